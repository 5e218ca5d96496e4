// SPDX-License-Identifier: GPL-2.0-only
/*
 * A node is asked what it is: JOIN with INC_JOIN_ASK, and once more with what its CHALLENGE says,
 * and with the proof. Two such answers, some time apart, say what it is doing.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "siphash.h"
#include "topo.h"

#define LOAD_MS	200	/* between the two; the node looks at its groups ten times a second */

struct reply {
	struct inc_hdr hdr;
	union {
		struct {
			struct inc_challenge challenge;
			struct inc_about about;
		};
		struct inc_refuse refuse;
	};
};

/* The length of the body of an answer to this question; -1: it is none. */
static ssize_t body_of(const struct ask_question *q, const struct reply *r, ssize_t len)
{
	uint8_t type = r->hdr.vertype & 15;
	ssize_t body = len - (ssize_t)sizeof(r->hdr);

	if (body < (ssize_t)sizeof(r->challenge) || r->hdr.group != q->hdr.group ||
	    r->hdr.vertype >> 4 != INC_WIRE_VERSION || r->challenge.nonce != q->join.nonce)
		return -1;
	return type == INC_PKT_CHALLENGE || type == INC_PKT_REFUSE ? body : -1;
}

/* Waits for the answer; its body's length, -1: none, or an ICMP error. */
static ssize_t await_answer(int fd, const struct ask_question *q, struct reply *r, uint64_t end)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now;
	ssize_t body;

	for (now = ask_now(); now < end; now = ask_now()) {
		if (poll(&p, 1, (int)((end - now + 999) / 1000)) <= 0)
			continue;
		body = recv(fd, r, sizeof(*r), MSG_DONTWAIT);
		if (body < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		body = body_of(q, r, body);
		if (body >= 0)
			return body;
	}
	return -1;
}

/* One packet there and one back. */
static ssize_t ask_once(int fd, const struct ask_question *q, struct reply *r, struct hop *h,
			uint64_t timeout)
{
	uint64_t begin = ask_now(), us;
	ssize_t body;

	if (send(fd, q, sizeof(*q), 0) < 0)
		return -1;
	body = await_answer(fd, q, r, begin + timeout * 1000);
	us = ask_now() - begin;
	if (body >= 0 && (!h->rtt || us < h->rtt))
		h->rtt = us;
	return body;
}

static enum hop_state refusal_state(const struct reply *r)
{
	switch (ntohs(r->refuse.code)) {
	case INC_REFUSE_NO_NODE:
		return HOP_NO_NODE;
	case INC_REFUSE_KEY:
	case INC_REFUSE_TENANT:
		return HOP_KEY;
	default:
		return HOP_SILENT;
	}
}

static enum hop_state ask_about(int fd, struct hop *h, const unsigned char *key, uint64_t timeout,
				struct inc_about *about)
{
	struct ask_question q;
	uint32_t random[2];
	struct reply r;
	ssize_t body;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return HOP_SILENT;
	ask_make_question(&q, random[0], random[1]);
	q.join.below = INC_JOIN_ASK;
	body = ask_once(fd, &q, &r, h, timeout);
	/* an older one would make a group with the proof */
	if (body >= 0 && (r.hdr.vertype & 15) == INC_PKT_CHALLENGE &&
	    (r.challenge.flags & htonl(INC_CHALLENGE_ASK))) {
		q.join.challenge = r.challenge.challenge;
		join_prove(&q.join, random[0], 0, key);
		body = ask_once(fd, &q, &r, h, timeout);
		/* one that is too busy to answer is a node all the same */
		if (body < 0)
			return HOP_NODE;
	}
	if (body < 0)
		return HOP_SILENT;
	if ((r.hdr.vertype & 15) == INC_PKT_REFUSE)
		return refusal_state(&r);
	if (body < (ssize_t)(sizeof(r.challenge) + sizeof(r.about)))
		return HOP_NODE;
	*about = r.about;
	return HOP_TOLD;
}

/* Per mille of one processor, of what its groups took between two answers. */
static void note_load(struct hop *h, const struct inc_about *later, uint64_t us)
{
	uint64_t before = be64toh(h->about.nsec), after = be64toh(later->nsec);

	/* groups that have gone have taken what they took with them */
	h->load_known = after >= before && us && !(h->about.flags & INC_ABOUT_TENANT);
	if (h->load_known)
		h->load = (after - before) / us;
}

void topo_ask(struct hop *h, const unsigned char *key, uint64_t timeout)
{
	struct timespec pause = { .tv_nsec = LOAD_MS * 1000000L };
	struct inc_about later;
	uint64_t begin;
	int fd = ask_open(&h->at);

	if (fd < 0)
		return;
	h->state = ask_about(fd, h, key, timeout, &h->about);
	begin = ask_now();
	if (h->state == HOP_TOLD) {
		nanosleep(&pause, NULL);
		if (ask_about(fd, h, key, timeout, &later) == HOP_TOLD)
			note_load(h, &later, ask_now() - begin);
	}
	close(fd);
}
