// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests to the generic netlink family, drawn from its spec and damaged. Every one is answered;
 * what no strict parser may accept is refused; what needs CAP_NET_ADMIN is refused with EPERM to
 * who does not have it; all that comes back, events too, is what the spec says, and limits that are
 * shown are in their documented ranges. Every command is granted at least once to who may use it.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/inc_netlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "surfaces.h"

#define REQUEST		32768
#define ANSWER		131072
#define MAX_DEVS	32
#define MAX_OPS		32
#define SOL_NETLINK_	270
#define CALM		200		/* ms: so long root's requests come, and so long none do */
#define PATIENCE	20000		/* ms more, until all has been granted */

/* Of all workers: how often each command was granted. */
static atomic_ulong *granted;

struct link {
	int fd;
	int events;		/* a socket in the multicast group */
	uint16_t family;
	uint32_t mcgrp;
	uint32_t seq;
	const struct plan *plan;
	struct source source;
	const char *devs[MAX_DEVS];
	unsigned int n_devs;
	unsigned long sent, heard;
	unsigned int failures;
	uint8_t out[REQUEST], in[ANSWER];
};

/* What was sent and what may be answered. */
struct request {
	const struct spec_op *op;	/* NULL: no command of the family */
	uint32_t seq;
	size_t len;		/* of link.out; 0: nobody needs to see it */
	bool reserved;			/* bits that generic netlink refuses first, whoever asks */
	bool dump;
	bool framed;		/* the kernel sees a request with attributes */
	const char *wrong;	/* NULL: its attributes are what the spec says */
	/* so far */
	bool ended, began;
};

static int open_netlink(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK };
	struct timeval limit = { .tv_sec = 10 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		perror("inc-surfaces: netlink");
		exit(2);
	}
	return fd;
}

static void failed(struct link *l, const struct request *r, const char *what, const char *more)
{
	size_t i;

	fprintf(stderr, "netlink seed %llu, request %u: %s%s: %s%s%s\n",
		(unsigned long long)l->plan->seed, r->seq, r->op ? r->op->name : "unknown command",
		r->dump ? " (dump)" : "", what, more ? ": " : "", more ? more : "");
	for (i = 0; i < r->len; i++)
		fprintf(stderr, "%s%02x", i ? " " : "its bytes: ", l->out[i]);
	if (r->len)
		fprintf(stderr, "\n");
	l->failures++;
}

/* Attributes by their numbers */

static const struct nlattr *find(const void *data, size_t len, unsigned int number)
{
	const uint8_t *p = data;
	struct nlattr h;

	while (len >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		if (h.nla_len < sizeof(h) || h.nla_len > len)
			return NULL;
		if ((h.nla_type & NLA_TYPE_MASK) == number)
			return (const struct nlattr *)p;
		if (NLA_ALIGN((size_t)h.nla_len) >= len)
			return NULL;
		len -= NLA_ALIGN((size_t)h.nla_len);
		p += NLA_ALIGN((size_t)h.nla_len);
	}
	return NULL;
}

static const struct nlattr *find_in(const struct nlattr *nest, unsigned int number)
{
	return nest ? find(nest + 1, nest->nla_len - sizeof(*nest), number) : NULL;
}

static uint64_t number_of(const struct nlattr *a)
{
	uint64_t v = 0;

	if (a)
		memcpy(&v, a + 1,
		       a->nla_len - sizeof(*a) < sizeof(v) ? a->nla_len - sizeof(*a) : sizeof(v));
	return v;
}

/* The first answer to a plain request, at l->in. */
static const struct genlmsghdr *ask(struct link *l, uint16_t family, uint8_t cmd, const char *name,
				    size_t *attrs)
{
	struct {
		struct nlmsghdr h;
		struct genlmsghdr genl;
		struct nlattr a;
		char name[8];
	} q = {
		.h = { .nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++l->seq },
		.genl = { .cmd = cmd, .version = 1 },
		.a = { .nla_type = CTRL_ATTR_FAMILY_NAME },
	};
	struct nlmsghdr *h = (struct nlmsghdr *)l->in;
	ssize_t n;

	q.h.nlmsg_len = offsetof(__typeof__(q), a);
	if (name) {
		strcpy(q.name, name);
		q.a.nla_len = (uint16_t)(sizeof(q.a) + strlen(name) + 1);
		q.h.nlmsg_len += NLA_ALIGN((uint32_t)q.a.nla_len);
	}
	if (send(l->fd, &q, q.h.nlmsg_len, 0) < 0)
		return NULL;
	n = recv(l->fd, l->in, sizeof(l->in), 0);
	if (n < (ssize_t)(NLMSG_HDRLEN + GENL_HDRLEN) || h->nlmsg_type == NLMSG_ERROR)
		return NULL;
	*attrs = h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	return NLMSG_DATA(h);
}

static void resolve(struct link *l)
{
	const struct genlmsghdr *answer;
	const struct nlattr *groups;
	size_t len;

	answer = ask(l, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, INC_GENL_NAME, &len);
	if (!answer) {
		fprintf(stderr, "inc-surfaces: no netlink family \"" INC_GENL_NAME "\"\n");
		exit(2);
	}
	l->family = (uint16_t)number_of(find(answer + 1, len, CTRL_ATTR_FAMILY_ID));
	groups = find_in(find(answer + 1, len, CTRL_ATTR_MCAST_GROUPS), 1);
	l->mcgrp = (uint32_t)number_of(find_in(groups, CTRL_ATTR_MCAST_GRP_ID));
}

int socket_family(void)
{
	struct link *l = calloc(1, sizeof(*l));
	const struct genlmsghdr *answer;
	int number = 0;
	size_t len;

	if (!l)
		abort();
	l->fd = open_netlink();
	resolve(l);
	answer = ask(l, l->family, INC_CMD_CAPS_GET, NULL, &len);
	if (answer)
		number = (int)number_of(find_in(find(answer + 1, len, INC_A_CAPS),
						INC_A_CAPS_FAMILY_NUMBER));
	close(l->fd);
	free(l);
	return number;
}

/* Requests */

/* Names one and says nothing else: what all commands that need one take. */
static void put_name(struct message *m, uint16_t nest_type, uint16_t type, const char *name)
{
	struct nlattr nest = { .nla_type = nest_type | NLA_F_NESTED }, a = { .nla_type = type };

	a.nla_len = (uint16_t)(sizeof(a) + strlen(name) + 1);
	nest.nla_len = (uint16_t)(sizeof(nest) + NLA_ALIGN((uint32_t)a.nla_len));
	memset(m->buf + m->len, 0, nest.nla_len);
	memcpy(m->buf + m->len, &nest, sizeof(nest));
	memcpy(m->buf + m->len + sizeof(nest), &a, sizeof(a));
	memcpy(m->buf + m->len + sizeof(nest) + sizeof(a), name, strlen(name));
	m->len += nest.nla_len;
}

/* A request that only names what it is about; false: this one does more. */
static bool put_only_name(struct link *l, struct message *m, const struct spec_op *op)
{
	struct source *s = &l->source;

	if (!op || !one_in(s, 3))
		return false;
	if (op->request & 1U << INC_A_NODE)
		put_name(m, INC_A_NODE, INC_A_NODE_IFNAME, l->devs[draw(s, 4)]);
	else if (op->request & 1U << INC_A_TENANT)
		put_name(m, INC_A_TENANT, INC_A_TENANT_NAME, spec_names[draw(s, SPEC_NAMES)]);
	else
		return false;
	return true;
}

static struct request build(struct link *l, struct message *m)
{
	struct source *s = &l->source;
	struct request r = { .op = &spec_ops[draw(s, spec_n_ops)], .seq = ++l->seq,
			     .framed = true };
	struct genlmsghdr genl = { .cmd = (uint8_t)r.op->cmd, .version = 1 };
	struct nlmsghdr h = { .nlmsg_type = l->family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
			      .nlmsg_seq = r.seq };
	uint32_t rounds = one_in(s, 64) ? 1 + draw(s, 200) : 1;

	if (one_in(s, 32)) {
		genl.cmd = (uint8_t)draw(s, 256);
		r.op = genl.cmd && genl.cmd <= spec_n_ops ? &spec_ops[genl.cmd - 1] : NULL;
	}
	if (one_in(s, 32)) {
		genl.version = (uint8_t)draw(s, 256);
		genl.reserved = (uint16_t)draw(s, 65536);
	}
	if (one_in(s, 32))
		h.nlmsg_flags |= (uint16_t)draw(s, 65536);
	if (r.op && r.op->has_dump && (!r.op->has_do || one_in(s, 2)) != one_in(s, 16))
		h.nlmsg_flags |= NLM_F_DUMP;
	m->damage = one_in(s, 2) ? 0 : 2 + draw(s, 8);
	m->len = sizeof(h) + sizeof(genl);
	if (put_only_name(l, m, r.op))
		rounds = 0;
	for (; rounds; rounds--)
		put_attrs(m, s, spec_top, r.op ? r.op->request : ~0U);
	h.nlmsg_len = (uint32_t)m->len;
	if (one_in(s, 64)) {
		h.nlmsg_len = one_in(s, 2) ? draw(s, (uint32_t)m->len + 100) : draw(s, 0);
		r.framed = false;
	}
	if (one_in(s, 256)) {
		h.nlmsg_type = (uint16_t)draw(s, 64);
		r.framed = false;
	}
	if (r.op && r.framed)
		r.wrong = wrong_request(m->buf + NLMSG_HDRLEN + GENL_HDRLEN,
					m->len - NLMSG_HDRLEN - GENL_HDRLEN, spec_top,
					r.op->request);
	r.len = m->len;
	r.dump = (h.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	r.reserved = genl.reserved ||
		     h.nlmsg_flags &
			     ~(NLM_F_REQUEST | NLM_F_ACK | NLM_F_ECHO | (r.dump ? NLM_F_DUMP : 0));
	memcpy(m->buf, &h, sizeof(h));
	memcpy(m->buf + sizeof(h), &genl, sizeof(genl));
	return r;
}

/* Answers */

static bool in_range(uint64_t v, uint64_t min, uint64_t max)
{
	return v >= min && v <= max;
}

static const char *bad_limits(const struct nlattr *node)
{
	uint64_t late, window;

	if (!find_in(node, INC_A_NODE_DEAD_MS))
		return NULL;
	late = number_of(find_in(node, INC_A_NODE_LATE_MS));
	window = number_of(find_in(node, INC_A_NODE_WINDOW));
	if (!in_range(number_of(find_in(node, INC_A_NODE_DEAD_MS)), 100, 60000))
		return "dead limit out of range";
	if (late && !in_range(late, 10, 3600000))
		return "late limit out of range";
	if (!in_range(window, 4, 4096) || window & (window - 1))
		return "window out of range";
	if (!in_range(number_of(find_in(node, INC_A_NODE_MAX_GROUPS)), 1, 65536))
		return "max-groups out of range";
	if (!in_range(number_of(find_in(node, INC_A_NODE_MAX_MEMORY)), 65536, 1ULL << 40))
		return "max-memory out of range";
	return NULL;
}

static void check_answer(struct link *l, const struct request *r, const struct nlmsghdr *h)
{
	const struct genlmsghdr *genl = NLMSG_DATA(h);
	size_t len = h->nlmsg_len - NLMSG_HDRLEN - GENL_HDRLEN;
	const struct spec_op *op = r->op;
	const char *text;

	if (h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN || !genl->cmd || genl->cmd > spec_n_ops ||
	    (op && op->cmd != genl->cmd)) {
		failed(l, r, "an answer of another command", NULL);
		return;
	}
	op = &spec_ops[genl->cmd - 1];
	text = wrong_answer(genl + 1, len, spec_top, op->reply);
	if (!text)
		text = bad_limits(find(genl + 1, len, INC_A_NODE));
	if (text)
		failed(l, r, "its answer", text);
}

static void check_error(struct link *l, struct request *r, int error)
{
	r->ended = true;
	if (error > 0 || error <= -512)
		failed(l, r, "no errno, or one that is the kernel's own", NULL);
	else if (!r->framed)
		return;
	else if (r->reserved && error != -EINVAL)
		failed(l, r, "not refused with EINVAL: reserved bits", strerror(-error));
	else if (r->reserved)
		return;
	else if (!error && !r->op)
		failed(l, r, "granted", NULL);
	else if (!error && r->wrong)
		failed(l, r, "granted", r->wrong);
	else if (!l->plan->privileged && r->op && r->op->admin && !r->dump && error != -EPERM)
		failed(l, r, "not refused with EPERM", strerror(-error));
	else if (!error)
		atomic_fetch_add(&granted[r->op->cmd], 1);
}

/* Takes all messages of a datagram; true: the answer to @fence is among them. */
static bool take(struct link *l, struct request *r, uint32_t fence, int n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)l->in;
	bool fenced = false;
	int error;

	for (; NLMSG_OK(h, (unsigned int)n); h = NLMSG_NEXT(h, n)) {
		error = 0;
		if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE)
			memcpy(&error, NLMSG_DATA(h), sizeof(error));
		if (h->nlmsg_seq == fence) {
			fenced = true;
		} else if (!r->framed) {
			continue;	/* its header was none: nobody knows whose answer this is */
		} else if (h->nlmsg_seq != r->seq) {
			failed(l, r, "an answer to somebody else", NULL);
		} else if (h->nlmsg_type == NLMSG_ERROR || h->nlmsg_type == NLMSG_DONE) {
			check_error(l, r, error);
		} else if (h->nlmsg_type == l->family) {
			r->began = true;
			check_answer(l, r, h);
		}
	}
	return fenced;
}

static void collect(struct link *l, struct request *r, uint32_t fence)
{
	bool fenced = false;
	ssize_t n;

	while (!fenced || (r->dump && r->began && !r->ended)) {
		n = recv(l->fd, l->in, sizeof(l->in), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == ENOBUFS)
			break;
		if (n <= 0) {
			failed(l, r, "no answer", strerror(errno));
			break;
		}
		fenced |= take(l, r, fence, (int)n);
	}
	if (fenced && r->framed && !r->ended)
		failed(l, r, "not answered", NULL);
}

/* Is never asked for anything but an answer, which comes after that to all before. */
static uint32_t send_fence(struct link *l)
{
	struct nlmsghdr h = {
		.nlmsg_len = sizeof(h), .nlmsg_type = NLMSG_NOOP,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK, .nlmsg_seq = 0x80000000U | ++l->seq,
	};

	if (send(l->fd, &h, sizeof(h), 0) < 0)
		perror("inc-surfaces: send");
	return h.nlmsg_seq;
}

static void open_link(struct link *l)
{
	int on = 1;

	l->fd = open_netlink();
	if (one_in(&l->source, 2))
		setsockopt(l->fd, SOL_NETLINK_, NETLINK_EXT_ACK, &on, sizeof(on));
	if (one_in(&l->source, 2))
		setsockopt(l->fd, SOL_NETLINK_, NETLINK_CAP_ACK, &on, sizeof(on));
	if (one_in(&l->source, 2))
		setsockopt(l->fd, SOL_NETLINK_, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
}

static void one_request(struct link *l)
{
	struct message m = {
		.buf = l->out, .size = sizeof(l->out), .devs = l->devs, .n_devs = l->n_devs,
	};
	struct request r = build(l, &m);

	l->sent++;
	if (send(l->fd, m.buf, m.len, 0) < 0) {
		if (errno != EINTR && errno != ENOBUFS && errno != EMSGSIZE)
			failed(l, &r, "cannot be sent", strerror(errno));
		return;
	}
	/* a dump that nobody reads to its end */
	if (!r.dump || !one_in(&l->source, 16))
		collect(l, &r, send_fence(l));
	else
		r.framed = false;
	/* there may be more of its answer */
	if (!r.framed) {
		close(l->fd);
		open_link(l);
	}
}

/* A request that is right: of what @m holds behind the headers, for which there is room. */
static void plain_request(struct link *l, struct message *m, uint8_t cmd)
{
	struct genlmsghdr genl = { .cmd = cmd, .version = 1 };
	struct nlmsghdr h = {
		.nlmsg_len = (uint32_t)m->len, .nlmsg_type = l->family,
		.nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++l->seq,
	};
	struct request r = { .framed = false };

	memcpy(m->buf, &h, sizeof(h));
	memcpy(m->buf + sizeof(h), &genl, sizeof(genl));
	if (send(l->fd, m->buf, m->len, 0) > 0)
		collect(l, &r, send_fence(l));
}

static void name_node(struct link *l, uint8_t cmd, unsigned int number)
{
	struct message m = { .buf = l->out, .size = sizeof(l->out),
			     .len = NLMSG_HDRLEN + GENL_HDRLEN };

	put_name(&m, INC_A_NODE, INC_A_NODE_IFNAME, l->devs[number - 1]);
	plain_request(l, &m, cmd);
}

/* What is the node for others is one again, without a key and with default limits. */
static void keep_node(struct link *l)
{
	unsigned int number = if_nametoindex(l->plan->keep);

	if (!number || number > l->n_devs)
		return;
	name_node(l, INC_CMD_NODE_DEL, number);
	name_node(l, INC_CMD_NODE_ADD, number);
}

/* Nobody meets a limit of this namespace or of users. */
static void lift_limits(struct link *l, uint8_t scope)
{
	struct {
		struct nlattr limit, scope;
		uint32_t value;
		struct nlattr values;
		struct {
			struct nlattr a;
			uint8_t value[8];
		} v[INC_LIMIT_MAX];
	} body = {
		.limit = { sizeof(body), INC_A_LIMIT | NLA_F_NESTED },
		.scope = { sizeof(body.scope) + sizeof(body.value), INC_A_LIMIT_SCOPE },
		.value = scope,
		.values = { sizeof(body.values) + sizeof(body.v),
			    INC_A_LIMIT_VALUES | NLA_F_NESTED },
	};
	struct message m = { .buf = l->out, .size = sizeof(l->out),
			     .len = NLMSG_HDRLEN + GENL_HDRLEN };
	const uint64_t much = 1ULL << 40;
	unsigned int i;

	for (i = 0; i < INC_LIMIT_MAX; i++) {
		body.v[i].a = (struct nlattr){ sizeof(body.v[i]), (uint16_t)(i + 1) };
		memcpy(body.v[i].value, &much, sizeof(much));
	}
	memcpy(m.buf + m.len, &body, sizeof(body));
	m.len += sizeof(body);
	plain_request(l, &m, INC_CMD_LIMIT_SET);
}

/*
 * What root's requests change ends what others have begun, before they have come far. So there are
 * times without, which are the same for all workers, and begin with a node and with limits that let
 * others work.
 */
static void be_calm(struct link *l)
{
	int64_t rest = CALM - now_ms() % CALM;

	if (!(now_ms() / CALM & 1))
		return;
	if (l->plan->keep)
		keep_node(l);
	lift_limits(l, INC_SCOPE_NETNS);
	lift_limits(l, INC_SCOPE_USER);
	usleep((useconds_t)rest * 1000);
}

/* Events are read now and then: more may come than the socket holds. */
static void hear(struct link *l)
{
	struct request r = { .op = &spec_ops[INC_CMD_EVENT - 1] };
	struct nlmsghdr *h = (struct nlmsghdr *)l->in;
	ssize_t n;

	while ((n = recv(l->events, l->in, sizeof(l->in), MSG_DONTWAIT)) > 0) {
		if (n < (ssize_t)NLMSG_HDRLEN || h->nlmsg_type != l->family) {
			failed(l, &r, "another message", NULL);
			continue;
		}
		check_answer(l, &r, h);
		l->heard++;
	}
}

/* Names by number; what has a name that is gone is asked for by it all the same. */
static void list_devs(struct link *l)
{
	static char names[MAX_DEVS][IF_NAMESIZE];
	unsigned int i;

	for (i = 0; i < MAX_DEVS; i++) {
		if (if_indextoname(i + 1, names[i]))
			l->n_devs = i + 1;
		else
			snprintf(names[i], IF_NAMESIZE, "no-such%u", i);
		l->devs[i] = names[i];
	}
}

static bool may(const struct plan *plan, const struct spec_op *op)
{
	return !op->has_event && (plan->privileged || !op->admin);
}

static bool all_granted(const struct plan *plan)
{
	unsigned int i;

	for (i = 0; i < spec_n_ops; i++)
		if (may(plan, &spec_ops[i]) && !atomic_load(&granted[spec_ops[i].cmd]))
			return false;
	return true;
}

/* Else most of this tests nothing. */
static int check_granted(const struct plan *plan)
{
	unsigned int i;

	printf("granted:");
	for (i = 0; i < spec_n_ops; i++)
		if (may(plan, &spec_ops[i]))
			printf(" %s %lu", spec_ops[i].name, atomic_load(&granted[spec_ops[i].cmd]));
	printf("\n");
	if (all_granted(plan))
		return 0;
	fprintf(stderr, "netlink seed %llu: some command was never granted\n",
		(unsigned long long)plan->seed);
	return 1;
}

static int worker(const struct plan *plan, unsigned int number)
{
	struct link *l = calloc(1, sizeof(*l));
	int64_t end = now_ms() + plan->seconds * 1000LL;

	if (!l)
		abort();
	l->plan = plan;
	l->source.state = plan->seed + number;
	l->fd = open_netlink();
	resolve(l);
	l->events = open_netlink();
	if (setsockopt(l->events, SOL_NETLINK_, NETLINK_ADD_MEMBERSHIP, &l->mcgrp,
		       sizeof(l->mcgrp)))
		perror("inc-surfaces: events");
	list_devs(l);
	while ((now_ms() < end || (now_ms() < end + PATIENCE && !all_granted(plan))) &&
	       l->failures < 10) {
		one_request(l);
		if (l->sent % 64)
			continue;
		hear(l);
		if (plan->privileged)
			be_calm(l);
	}
	hear(l);
	if (plan->keep && !l->heard)
		failed(l, &(struct request){ .op = &spec_ops[INC_CMD_EVENT - 1] }, "never heard",
		       NULL);
	printf("netlink %u: %lu requests, %lu events\n", number, l->sent, l->heard);
	return !!l->failures;
}

int fuzz_netlink(const struct plan *plan)
{
	int failures = 0, status;
	unsigned int i;

	granted = mmap(NULL, MAX_OPS * sizeof(*granted), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (granted == MAP_FAILED)
		return 1;
	for (i = 0; i < plan->workers; i++)
		if (!fork())
			exit(worker(plan, i));
	while (wait(&status) > 0)
		failures += !!status;
	return failures + check_granted(plan);
}
