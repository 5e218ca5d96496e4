// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Groups made of a group. All ranks exchange an offer each; every one finds in them who is in its
 * new group, and what the new group's rank 0 says of it: a number, and where it meets.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

#define OFFER_VERSION	2

/* struct inc_split_offer as it travels: big-endian, whatever machines the ranks are. */
struct offer {
	uint32_t version;	/* OFFER_VERSION */
	int32_t colour;
	int32_t key;
	uint32_t flags;		/* INC_SA_EDGE: the group meets at the host of its rank 0 */
	/* random: the rest is for a group of which this is rank 0 */
	uint64_t job;
	uint32_t group;
	uint16_t family;	/* of @parent; 0: everybody's own parent, that of the group split */
	uint16_t port;
	uint8_t parent[16];
	uint8_t resv[16];	/* 0 */
};

_Static_assert(sizeof(struct offer) == sizeof(struct inc_split_offer), "an offer has one size");

static int split_failed(struct inc_group *group, int err, const char *why)
{
	return inc_fail(group, err, "split group %u as rank %u of %u: %s", group->addr.sinc_group,
			group->addr.sinc_rank, group->addr.sinc_size, why);
}

/* The address of this host by which it reaches @to: others of the group reach it there. */
static int own_address(const struct inc_info *to, struct offer *offer)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = to->parent_port };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = to->parent_port };
	bool four = to->parent_family == AF_INET;
	struct sockaddr *addr = four ? (void *)&in : (void *)&in6;
	socklen_t len = four ? sizeof(in) : sizeof(in6);
	int fd = socket(to->parent_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;

	if (fd < 0)
		return -errno;
	memcpy(&in.sin_addr, to->parent, sizeof(in.sin_addr));
	memcpy(&in6.sin6_addr, to->parent, sizeof(in6.sin6_addr));
	if (connect(fd, addr, len) < 0 || getsockname(fd, addr, &len) < 0)
		ret = -errno;
	close(fd);
	offer->family = htobe16(to->parent_family);
	offer->port = to->parent_port;
	if (four)
		memcpy(offer->parent, &in.sin_addr, sizeof(in.sin_addr));
	else
		memcpy(offer->parent, &in6.sin6_addr, sizeof(in6.sin6_addr));
	return ret;
}

/* Where a group meets of which this rank is the first one: where this group is now. */
static int offer_place(const struct inc_info *info, struct offer *offer)
{
	switch (info->placement) {
	case INC_PLACEMENT_EDGE:
		offer->flags = htobe32(INC_SA_EDGE);
		return own_address(info, offer);
	case INC_PLACEMENT_STANDBY:
		offer->family = htobe16(info->parent_family);
		offer->port = info->parent_port;
		memcpy(offer->parent, info->parent, sizeof(offer->parent));
		return 0;
	default:
		return 0;
	}
}

int inc_split_offer(struct inc_group *group, int colour, int key, struct inc_split_offer *out)
{
	struct offer offer = { .version = htobe32(OFFER_VERSION),
			       .colour = htobe32(colour),
			       .key = htobe32(key) };
	struct inc_info info;
	int ret;

	if (!group || !out)
		return inc_null(group, group ? "offer" : "group");
	memset(out, 0, sizeof(*out));
	if (colour < 0 && colour != INC_NO_COLOUR)
		return inc_fail(group, -EINVAL, "split: colour %d: expected 0..%d or INC_NO_COLOUR",
				colour, INT32_MAX);
	if (!group->joined)
		return split_failed(group, -ENOTCONN, "it was never joined");
	ret = inc_info(group, &info);
	if (ret)
		return ret;
	ret = offer_place(&info, &offer);
	if (ret)
		return split_failed(group, ret, inc_strerror(ret));
	if (getrandom(&offer.job, sizeof(offer.job), 0) != sizeof(offer.job) ||
	    getrandom(&offer.group, sizeof(offer.group), 0) != sizeof(offer.group))
		return split_failed(group, -errno, inc_strerror(errno));
	memcpy(out, &offer, sizeof(offer));
	return 0;
}

static struct offer read_offer(const struct inc_split_offer *offers, uint32_t rank)
{
	struct offer offer;

	memcpy(&offer, &offers[rank], sizeof(offer));
	offer.colour = (int32_t)be32toh(offer.colour);
	offer.key = (int32_t)be32toh(offer.key);
	return offer;
}

/*
 * Rank and size in the new group of this rank's colour, and the offer of its rank 0. Size 0: this
 * rank is in none.
 */
static int find_place(struct inc_group *group, const struct inc_split_offer *offers,
		      struct sockaddr_inc *addr, struct offer *first)
{
	uint32_t me = inc_rank(group), size = inc_size(group);
	struct offer own = read_offer(offers, me), other;
	uint32_t first_rank = me;

	addr->sinc_rank = 0;
	addr->sinc_size = 0;
	*first = own;
	for (uint32_t i = 0; i < size; i++) {
		other = read_offer(offers, i);
		if (other.version != htobe32(OFFER_VERSION))
			return inc_fail(group, -EPROTO,
					"split: rank %u has another version of libinc: offer version %u, here %u",
					i, be32toh(other.version), OFFER_VERSION);
		if (own.colour == INC_NO_COLOUR || other.colour != own.colour)
			continue;
		addr->sinc_size++;
		addr->sinc_rank += other.key < own.key || (other.key == own.key && i < me);
		if (other.key < first->key || (other.key == first->key && i < first_rank)) {
			*first = other;
			first_rank = i;
		}
	}
	return 0;
}

/* Where a group meets, or one of its stripes; if one has moved, all of them meet there. */
static void take_offer(const struct offer *first, struct sockaddr_inc *addr)
{
	addr->sinc_job = be64toh(first->job);
	addr->sinc_group = be32toh(first->group);
	if (!first->family)
		return;
	addr->sinc_flags &= ~INC_SA_EDGE;
	addr->sinc_flags |= be32toh(first->flags) & INC_SA_EDGE;
	addr->sinc_parent_family = be16toh(first->family);
	addr->sinc_parent_port = first->port;
	/* neither standby nodes nor hosts at the edge have link-local addresses */
	addr->sinc_scope_id = 0;
	memcpy(addr->sinc_parent, first->parent, sizeof(addr->sinc_parent));
}

int inc_split_start(struct inc_group **out, struct inc_group *group,
		    const struct inc_split_offer *offers)
{
	unsigned int n = group && group->nstripes ? group->nstripes : 1;
	struct inc_target to[INC_MAX_STRIPES];
	struct offer first;
	struct sockaddr_inc addr;
	int ret;

	if (!group || !offers || !out)
		return inc_null(group, !group ? "group" : offers ? "place for the new group" : "offers");
	*out = NULL;
	addr = group->addr;
	ret = find_place(group, offers, &addr, &first);
	if (ret || !addr.sinc_size)
		return ret;
	for (unsigned int i = 0; i < n; i++) {
		to[i].addr = group->nstripes ? group->stripe[i]->addr : group->addr;
		to[i].addr.sinc_rank = addr.sinc_rank;
		to[i].addr.sinc_size = addr.sinc_size;
		take_offer(&first, &to[i].addr);
		memcpy(to[i].key, group->key, sizeof(to[i].key));
		to[i].reduces = group->reduces;
		to[i].nplaces = 0;
	}
	ret = inc_join_targets(out, to, n, false);
	explicit_bzero(to, sizeof(to));
	return ret ? inc_fail(group, ret, "%s", inc_errmsg(NULL)) : 0;
}

int inc_split(struct inc_group **out, struct inc_group *group, int colour, int key, int timeout_ms)
{
	struct inc_split_offer own, *offers;
	int ret;

	if (!out)
		return inc_null(group, "place for the new group");
	*out = NULL;
	ret = inc_check_timeout(group, timeout_ms) ?: inc_split_offer(group, colour, key, &own);
	if (ret)
		return ret;
	offers = calloc(inc_size(group), sizeof(*offers));
	if (!offers)
		return split_failed(group, -ENOMEM, inc_strerror(-ENOMEM));
	ret = inc_allgather(group, &own, offers, sizeof(own), INC_TYPE_U8);
	if (!ret)
		ret = inc_split_start(out, group, offers);
	free(offers);
	if (ret || !*out)
		return ret;
	ret = inc_join_poll(*out, timeout_ms ? timeout_ms : INC_DEFAULT_TIMEOUT_MS);
	if (!ret)
		return 0;
	inc_fail(group, ret, "%s", inc_errmsg(*out));
	inc_abort(*out);
	*out = NULL;
	return ret;
}

int inc_dup(struct inc_group **out, struct inc_group *group, int timeout_ms)
{
	return inc_split(out, group, 0, 0, timeout_ms);
}
