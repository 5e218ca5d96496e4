// SPDX-License-Identifier: LGPL-2.1-or-later
/* What inc_join() is told, by its caller or by the environment, as a struct inc_target. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PARENT_LEN 320	/* a name has 253 characters at most (RFC 1035) */
#define EDGE_PREFIX "edge:"	/* the host of rank 0 instead of a node */

static int parse_number(const char *what, const char *text, uint32_t min, uint32_t max,
			uint32_t *out)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value < min || value > max)
		return inc_fail(NULL, -EINVAL, "%s \"%s\": expected a number in %u..%u", what,
				text, min, max);
	*out = value;
	return 0;
}

/* Group and job that the caller has given stand before the launcher's. */
static int from_launcher(struct sockaddr_inc *addr, const struct inc_join_opts *opts)
{
	struct inc_launch launch;
	int ret = inc_launcher(&launch);

	addr->sinc_job = opts && opts->job ? opts->job : launch.job;
	addr->sinc_group = opts && opts->group ? opts->group : launch.group;
	addr->sinc_rank = launch.rank;
	addr->sinc_size = launch.size;
	return ret ? -EINVAL : 0;
}

static int parse_port(char *text, struct sockaddr_inc *addr)
{
	uint32_t port;

	if (parse_number("parent's port", text, 1, 65535, &port))
		return -EINVAL;
	addr->sinc_parent_port = htons(port);
	return 0;
}

/* Cuts "ADDR:PORT" or "[ADDR6]:PORT" into host and port; port is NULL if there is none. */
static void split_port(char *text, char **host, char **port)
{
	char *colon = strrchr(text, ':'), *close;

	*host = text;
	*port = NULL;
	if (text[0] == '[') {
		close = strchr(text, ']');
		if (!close || (close[1] && close[1] != ':'))
			return;
		*host = text + 1;
		*port = close[1] ? close + 2 : NULL;
		*close = '\0';
	} else if (colon && strchr(text, ':') == colon) {
		*colon = '\0';
		*port = colon + 1;
	}
}

static int parse_scope(char *host, struct sockaddr_inc *addr)
{
	char *percent = strchr(host, '%');

	if (!percent)
		return 0;
	*percent = '\0';
	addr->sinc_scope_id = if_nametoindex(percent + 1);
	if (!addr->sinc_scope_id)
		return inc_fail(NULL, -ENODEV, "parent's interface \"%s\": no such interface here",
				percent + 1);
	return 0;
}

void inc_set_place(struct sockaddr_inc *addr, const struct inc_place *place)
{
	addr->sinc_parent_family = place->family;
	addr->sinc_scope_id = place->scope;
	memcpy(addr->sinc_parent, place->addr, sizeof(addr->sinc_parent));
}

/* @scope: the interface that the caller has given, or 0. False: no address of ours. */
static bool read_place(struct inc_place *place, const struct addrinfo *found, uint32_t scope)
{
	const struct sockaddr_in6 *in6 = (const void *)found->ai_addr;
	const struct sockaddr_in *in = (const void *)found->ai_addr;

	*place = (struct inc_place){ .family = (uint16_t)found->ai_family };
	if (found->ai_family == AF_INET) {
		memcpy(place->addr, &in->sin_addr, sizeof(in->sin_addr));
	} else if (found->ai_family == AF_INET6) {
		memcpy(place->addr, &in6->sin6_addr, sizeof(in6->sin6_addr));
		if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			place->scope = in6->sin6_scope_id ? in6->sin6_scope_id : scope;
	} else {
		return false;
	}
	return true;
}

/* Which of a name's addresses can be a parent: with @scope those that take one. */
static bool is_usable(const struct inc_place *place, uint32_t scope)
{
	bool local = place->family == AF_INET6 &&
		     IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)place->addr);

	return scope ? local : !local || place->scope;
}

static bool is_listed(const struct inc_target *to, const struct inc_place *place)
{
	for (unsigned int i = 0; i < to->nplaces; i++)
		if (!memcmp(&to->places[i], place, sizeof(*place)))
			return true;
	return false;
}

/*
 * The addresses of a name in the order in which the host would use them (RFC 6724), the first ones;
 * if none is usable the first, which is refused then. 0 or an EAI_*, see getaddrinfo(3).
 */
static int look_up(const char *name, struct inc_target *to)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found;
	int err = getaddrinfo(name, NULL, &hints, &found);
	uint32_t scope = to->addr.sinc_scope_id;
	struct inc_place place;

	if (err)
		return err;
	to->nplaces = 0;
	for (const struct addrinfo *a = found; a && to->nplaces < INC_MAX_PLACES; a = a->ai_next)
		if (read_place(&place, a, scope) && is_usable(&place, scope) &&
		    !is_listed(to, &place))
			to->places[to->nplaces++] = place;
	if (!to->nplaces && read_place(&place, found, scope))
		to->places[to->nplaces++] = place;
	freeaddrinfo(found);
	if (!to->nplaces)
		return EAI_FAMILY;
	inc_set_place(&to->addr, &to->places[0]);
	return 0;
}

/*
 * May it be a host's name? An address in numbers that has a mistake is not looked up, nor is one of
 * the old forms that getaddrinfo() takes, as 10.7: no top-level domain is a number (RFC 3696, 2).
 */
static bool is_name(const char *host)
{
	const char *last = strrchr(host, '.');
	struct in_addr old;

	last = last && last[1] ? last + 1 : host;
	return *host && !strpbrk(host, ":/[] \t\n") && !inet_aton(host, &old) &&
	       last[strspn(last, "0123456789")];
}

static bool is_unicast(const struct sockaddr_inc *addr)
{
	const struct in6_addr *in6 = (const void *)addr->sinc_parent;
	const uint8_t *ip = addr->sinc_parent;

	if (addr->sinc_parent_family == AF_INET)
		return ip[0] && (ip[0] & 0xf0) != 0xe0 && memcmp(ip, "\377\377\377\377", 4) != 0;
	return !IN6_IS_ADDR_UNSPECIFIED(in6) && !IN6_IS_ADDR_MULTICAST(in6) &&
	       !IN6_IS_ADDR_V4MAPPED(in6);
}

/* Why connect() would take no such address; NULL: it does. The texts are those of `parent set`. */
static const char *why_no_place(const struct sockaddr_inc *addr)
{
	bool local = addr->sinc_parent_family == AF_INET6 &&
		     IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)addr->sinc_parent);

	if (!is_unicast(addr))
		return "expected a unicast address";
	if (local && addr->sinc_flags & INC_SA_EDGE)
		return "ranks cannot meet at a link-local address";
	if (local && !addr->sinc_scope_id)
		return "a link-local address needs its interface, ADDR%DEV";
	if (!local && addr->sinc_scope_id)
		return "only a link-local address takes %DEV";
	return NULL;
}

static int check_place(const char *parent, const struct sockaddr_inc *addr)
{
	const char *why = why_no_place(addr);

	return why ? inc_fail(NULL, -EINVAL, "parent \"%s\": %s", parent, why) : 0;
}

/* The text has been copied, and is not too long. */
static int find_parent(const char *parent, char *text, struct inc_target *to)
{
	struct sockaddr_inc *addr = &to->addr;
	char *host, *port;
	int ret, err;

	split_port(text, &host, &port);
	ret = parse_scope(host, addr);
	if (!ret && port)
		ret = parse_port(port, addr);
	if (ret)
		return ret;
	if (inet_pton(AF_INET, host, addr->sinc_parent) == 1) {
		addr->sinc_parent_family = AF_INET;
		return 0;
	}
	if (inet_pton(AF_INET6, host, addr->sinc_parent) == 1) {
		addr->sinc_parent_family = AF_INET6;
		return 0;
	}
	if (!is_name(host))
		return inc_fail(NULL, -EINVAL,
				"parent \"%s\": expected ADDR, ADDR:PORT, [ADDR6]:PORT, HOST or HOST:PORT",
				parent);
	err = look_up(host, to);
	if (err)
		return inc_fail(NULL, err == EAI_AGAIN ? -ENONET : -EINVAL,
				"parent \"%s\": no address of %s is found: %s", parent, host,
				gai_strerror(err));
	/* all ranks have to choose the same one, of which only rank 0 can tell whether it is */
	if (addr->sinc_flags & INC_SA_EDGE)
		to->nplaces = 1;
	return 0;
}

static int parse_parent(const char *parent, struct inc_target *to)
{
	const char *given = parent;
	char text[PARENT_LEN];
	int ret;

	if (!strncmp(parent, EDGE_PREFIX, strlen(EDGE_PREFIX))) {
		parent += strlen(EDGE_PREFIX);
		to->addr.sinc_flags |= INC_SA_EDGE;
	}
	if (strlen(parent) >= sizeof(text))
		return inc_fail(NULL, -EINVAL, "parent \"%.40s...\": expected ADDR or ADDR:PORT",
				parent);
	strcpy(text, parent);
	ret = find_parent(parent, text, to);
	return ret ?: check_place(given, &to->addr);
}

/* Hex digits, or @ and the name of a file that has them. */
static int parse_key(const char *text, uint8_t *key)
{
	char why[128];
	int ret;

	if (text[0] == '@') {
		ret = inc_key_read(key, text + 1, why, sizeof(why));
		if (ret)
			return inc_fail(NULL, ret, "INC_KEY: %s: %s", text + 1, why);
	} else if (!inc_key_hex(key, text)) {
		return inc_fail(NULL, -EINVAL,
				"INC_KEY: expected %d hex digits or @FILE, got %zu characters",
				2 * INC_KEY_LEN, strlen(text));
	} else if (inc_key_zero(key)) {
		return inc_fail(NULL, -EINVAL, "INC_KEY: expected a key that is not all zeros");
	}
	return 0;
}

static int take_key(const uint8_t *given, uint8_t *key)
{
	if (inc_key_zero(given))
		return inc_fail(NULL, -EINVAL,
				"key: expected a key that is not all zeros, or NULL for none");
	memcpy(key, given, INC_KEY_LEN);
	return 0;
}

/* In which order floats are summed, and multiplied. */
static int parse_order(const char *text, struct sockaddr_inc *addr)
{
	if (!strcmp(text, "canonical"))
		addr->sinc_flags |= INC_SA_CANONICAL;
	else if (strcmp(text, "auto"))
		return inc_fail(NULL, -EINVAL, "order \"%.40s\": expected auto or canonical", text);
	return 0;
}

/* "f32,bf16,sum": names of types and operations, of which none is both. */
static int parse_reduces(const char *text, struct inc_reduces *r)
{
	char name[16];
	int type, op;

	for (;; text++) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, ","), text);
		type = inc_type_parse(name);
		op = inc_op_parse(name);
		if (type <= 0 && op <= 0)
			return inc_fail(NULL, -EINVAL,
					"INC_REDUCES: \"%.*s\": expected names of types and operations, as f32,sum",
					(int)strcspn(text, ","), text);
		if (type > 0)
			r->types |= 1U << type;
		else
			r->ops |= 1U << op;
		text += strcspn(text, ",");
		if (!*text)
			return 0;
	}
}

static int check_addr(const struct sockaddr_inc *addr)
{
	if (!addr->sinc_size || addr->sinc_size > INC_MAX_RANKS)
		return inc_fail(NULL, -EINVAL, "group %u: size %u: expected 1..%u",
				addr->sinc_group, addr->sinc_size, INC_MAX_RANKS);
	if (addr->sinc_rank >= addr->sinc_size)
		return inc_fail(NULL, -EINVAL, "group %u: rank %u: expected 0..%u, the size is %u",
				addr->sinc_group, addr->sinc_rank, addr->sinc_size - 1,
				addr->sinc_size);
	return 0;
}

/*
 * No node is known: the host that the launcher has named for ranks to meet at, as MASTER_ADDR
 * (torchrun). False: there is none.
 */
bool inc_meet_at_master(struct sockaddr_inc *addr)
{
	const char *master = getenv("MASTER_ADDR");
	struct inc_target to = { .addr = *addr };

	if (!master || !*master || look_up(master, &to))
		return false;
	to.addr.sinc_flags |= INC_SA_EDGE;
	if (why_no_place(&to.addr))
		return false;
	*addr = to.addr;
	return true;
}

/* Everything but the family number, the parent, and which stripe it is. */
static int parse_who(struct inc_target *to, const struct inc_join_opts *opts)
{
	struct sockaddr_inc *addr = &to->addr;
	/* a program with more privileges than its user reads no file that this one names */
	const char *key = secure_getenv("INC_KEY"), *job = getenv("INC_JOB");
	const char *order = opts && opts->order ? opts->order : getenv("INC_ORDER");
	const char *reduces = getenv("INC_REDUCES");
	int ret = 0;

	memset(to, 0, sizeof(*to));
	if (opts && (opts->resv0 || opts->resv[0]))
		return inc_fail(NULL, -EINVAL,
				"reserved fields of struct inc_join_opts: expected 0");
	if (opts && opts->size) {
		addr->sinc_group = opts->group;
		addr->sinc_rank = opts->rank;
		addr->sinc_size = opts->size;
		addr->sinc_job = opts->job || !job || !*job ? opts->job : inc_parse_job(job);
	} else if (opts && opts->rank) {
		return inc_fail(NULL, -EINVAL,
				"rank %u with size 0: expected both, or none where a launcher tells them",
				opts->rank);
	} else if (from_launcher(addr, opts)) {
		return -EINVAL;
	}
	if (opts && opts->key)
		ret = take_key(opts->key, to->key);
	else if (key && *key)
		ret = parse_key(key, to->key);
	if (!ret && order && *order)
		ret = parse_order(order, addr);
	if (!ret && reduces && *reduces)
		ret = parse_reduces(reduces, &to->reduces);
	return ret;
}

/* How many the list has; one that is empty is an error, whoever would go there. */
static int count_parents(const char *list)
{
	const char *at = list;
	int n = 0;

	if (!list || !*list)
		return 0;
	for (;; at++) {
		if (!strcspn(at, ","))
			return inc_fail(NULL, -EINVAL,
					"parent \"%.80s\": expected an address on both sides of each comma",
					list);
		n++;
		at += strcspn(at, ",");
		if (!*at)
			return n;
	}
}

/* Number @i of those that the list has. */
static int parse_nth_parent(const char *list, unsigned int i, struct inc_target *to)
{
	char text[sizeof(EDGE_PREFIX) + PARENT_LEN];
	size_t len;

	for (; i; i--)
		list = strchr(list, ',') + 1;
	len = strcspn(list, ",");
	if (len >= sizeof(text))
		return inc_fail(NULL, -EINVAL, "parent \"%.40s...\": expected ADDR or ADDR:PORT",
				list);
	memcpy(text, list, len);
	text[len] = '\0';
	return parse_parent(text, to);
}

static int count_stripes(const struct inc_join_opts *opts, unsigned int *n)
{
	const char *text = getenv("INC_STRIPES");
	uint32_t value = opts ? opts->stripes : 0;
	int ret = 0;

	if (!value && text && *text)
		ret = parse_number("INC_STRIPES", text, 0, INC_MAX_STRIPES, &value);
	else if (value > INC_MAX_STRIPES)
		ret = inc_fail(NULL, -EINVAL, "stripes %u: expected 0..%u", value,
			       INC_MAX_STRIPES);
	*n = value ? value : 1;
	return ret;
}

int inc_parse_stripes(struct inc_target to[INC_MAX_STRIPES], const struct inc_join_opts *opts)
{
	const char *parent = opts && opts->parent ? opts->parent : getenv("INC_PARENT");
	int parents = count_parents(parent), ret;
	struct inc_target who;
	unsigned int n = 1;

	if (parents < 0)
		return parents;
	ret = parse_who(&who, opts) ?: count_stripes(opts, &n);
	for (unsigned int i = 0; i < n && !ret; i++) {
		to[i] = who;
		to[i].addr.sinc_flags |= INC_STRIPE(i, n) << INC_SA_STRIPE_SHIFT;
		if (parents)
			ret = parse_nth_parent(parent, i % (unsigned int)parents, &to[i]);
	}
	if (!ret)
		ret = check_addr(&who.addr);
	explicit_bzero(&who, sizeof(who));
	return ret ? ret : (int)n;
}
