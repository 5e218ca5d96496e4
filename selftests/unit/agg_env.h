/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The environment of an aggregator for tests: payload is a counted object with a number, folding
 * mixes numbers so that their order matters, and all that the aggregator sends is written down.
 */
#ifndef INC_AGG_ENV_H
#define INC_AGG_ENV_H

#include "engine/aggregator.h"

#include "ktap.h"
#include "siphash.h"

#define ENV_LOG		4096u
#define ENV_GROUP	77u
#define ENV_INCARNATION	0x12345678u
#define ENV_EPOCH	0x23456789u
#define ENV_COOKIE	0x3456789abcdef012ull

struct env_obj {
	u32 refs;
	u64 value;
	struct inc_desc desc;
};

struct env_out {
	/* R result, U up, N NACK, S STATUS, M mismatch, P partial: q its number, value who */
	char kind;
	u32 child;
	u64 q;
	u32 span;		/* N; M: the other child */
	u64 value;		/* R, U: of the payload */
};

static struct env {
	struct netinc_agg agg;
	u64 counters[__INC_C_MAX];
	void *mem;
	u64 objs;		/* that exist */
	u32 fail_hold;		/* so many refusals, forced ones excepted */
	u32 fail_fold;
	u32 fold_until;		/* the last of so many folds fails, 0: none does */
	u32 room;		/* objects that may be held, forced ones excepted */
	u32 held;
	u32 forced;
	struct env_out log[ENV_LOG];
	u32 logged;
	struct inc_status status;	/* the last one, with its map */
	__be32 map[NETINC_MAX_BITMAP];
	struct netinc_pkt header[__INC_PKT_MAX];	/* the last one of each type */
} env;

static struct env_obj *env_new(u64 value)
{
	struct env_obj *o = calloc(1, sizeof(*o));

	o->refs = 1;
	o->value = value;
	env.objs++;
	return o;
}

static void env_put(struct env_obj *o)
{
	if (--o->refs)
		return;
	env.objs--;
	free(o);
}

static u64 env_mix(u64 sum, u64 value)
{
	return sum * 1000003 + value;
}

static void env_log(char kind, u32 child, u64 q, u32 span, u64 value)
{
	if (env.logged < ENV_LOG)
		env.log[env.logged] = (struct env_out) { kind, child, q, span, value };
	env.logged++;
}

static bool env_hold(struct netinc_agg *agg, struct netinc_pay *pay, bool force)
{
	struct env_obj *o = pay->obj;

	(void)agg;
	if (!force && env.fail_hold) {
		env.fail_hold--;
		return false;
	}
	if (!force && env.held >= env.room)
		return false;
	env.forced += force;
	env.held++;
	o->refs++;
	return true;
}

static void env_release(struct netinc_agg *agg, struct netinc_pay *pay)
{
	(void)agg;
	env.held--;
	env_put(pay->obj);
}

static void env_desc(struct netinc_agg *agg, const struct netinc_pay *pay, struct inc_desc *desc)
{
	(void)agg;
	memset(desc, 0, sizeof(*desc));
	if (pay->obj)
		*desc = ((struct env_obj *)pay->obj)->desc;
}

static bool env_result(struct netinc_slot *slot, u64 value)
{
	if (env.fail_fold) {
		env.fail_fold--;
		return false;
	}
	if (env.fold_until && !--env.fold_until)
		return false;
	slot->result = (struct netinc_pay){
		.obj = env_new(value), .kind = NETINC_PAY_RESULT, .len = slot->len
	};
	env.held++;
	return true;
}

static bool env_can_fold(struct netinc_agg *agg, u8 dtype, u8 dop, u8 mode)
{
	(void)agg;
	(void)dtype;
	(void)mode;
	return dop != INC_OP_WSUM;
}

static u64 env_value(const struct netinc_pay *pay)
{
	return pay->obj ? ((struct env_obj *)pay->obj)->value : 0;
}

static bool env_fold(struct netinc_agg *agg, struct netinc_slot *slot, u32 part)
{
	struct netinc_part p = netinc_agg_part(agg, part);
	const struct netinc_pay *in;
	u64 sum = 0;
	u32 i;

	for (i = p.from; i < p.to; i++) {
		in = &slot->in[agg->operand[i].input];
		if ((in->obj || (in->flags & INC_F_ZERO)) && !(in->flags & INC_F_PARTIAL))
			sum = env_mix(sum, env_value(in));
	}
	return env_result(slot, sum);
}

static bool env_copy(struct netinc_agg *agg, struct netinc_slot *slot, u32 i)
{
	(void)agg;
	return env_result(slot, ((struct env_obj *)slot->in[i].obj)->value);
}

static bool env_is_copy(struct netinc_agg *agg, const struct netinc_slot *slot, u32 i)
{
	(void)agg;
	return env_value(&slot->result) == env_value(&slot->in[i]);
}

static void env_send_result(struct netinc_agg *agg, const struct netinc_slot *slot, u32 child)
{
	(void)agg;
	env_log('R', child, slot->q, 0, env_value(&slot->result));
}

static void env_send_up(struct netinc_agg *agg, const struct netinc_slot *slot, u32 part,
			bool again)
{
	struct netinc_pay partial = netinc_agg_partial(slot, part);

	(void)agg;
	env_log(again ? 'u' : 'U', 0, slot->q, part == NETINC_WHOLE ? 0 : part,
		env_value(&partial));
}

static bool env_take_result(struct netinc_agg *agg, struct netinc_slot *slot,
			    const struct netinc_pay *pay)
{
	(void)agg;
	return env_result(slot, ((struct env_obj *)pay->obj)->value);
}

static void env_sent_status(const struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
			    const struct inc_status *body, u32 len)
{
	env_log('S', child, netinc_extend(agg->una, pkt->psn), 0, pkt->tstamp);
	memset(env.map, 0, sizeof(env.map));
	memcpy(&env.status, body, sizeof(env.status));
	memcpy(env.map, body->bitmap, len - sizeof(*body));
}

static void env_sent_partial(const struct netinc_agg *agg, u32 child,
			     const struct inc_partial *body, u32 len)
{
	expect(len == sizeof(*body) + be16_to_cpu(body->bits) / 8, "PARTIAL of %u bytes", len);
	env_log('P', child, be16_to_cpu(body->set), agg->children, be32_to_cpu(body->bitmap[0]));
}

static void env_send(struct netinc_agg *agg, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len)
{
	env.header[pkt->type] = *pkt;
	if (pkt->type == INC_PKT_NACK)
		env_log('N', child, netinc_extend(agg->una, pkt->psn), pkt->span, 0);
	else if (pkt->type == INC_PKT_STATUS)
		env_sent_status(agg, child, pkt, body, len);
	else if (pkt->type == INC_PKT_PARTIAL)
		env_sent_partial(agg, child, body, len);
	else
		expect(false, "the aggregator sends type %u", pkt->type);
}

static void env_mismatch(struct netinc_agg *agg, const struct netinc_slot *slot, u32 a, u32 b)
{
	agg->closed = true;
	agg->limit = slot->q;
	env_log('M', a, slot->q, b, 0);
}

static const struct netinc_agg_ops env_ops = {
	.hold = env_hold, .release = env_release, .desc = env_desc, .can_fold = env_can_fold,
	.fold = env_fold, .copy = env_copy, .is_copy = env_is_copy,
	.send_result = env_send_result, .send_up = env_send_up, .send = env_send,
	.take_result = env_take_result, .mismatch = env_mismatch,
};

static void env_begin(u32 children, u32 inputs, u32 window, u64 start)
{
	memset(&env, 0, sizeof(env));
	env.room = ~0u;
	env.mem = calloc(1, netinc_agg_bytes(children, inputs, window));
	env.agg.ops = &env_ops;
	env.agg.counters = env.counters;
	env.agg.header = (struct netinc_pkt){ .group = ENV_GROUP,
					      .incarnation = ENV_INCARNATION,
					      .epoch = ENV_EPOCH,
					      .cookie = ENV_COOKIE };
	netinc_agg_init(&env.agg, env.mem, children, inputs, window);
	env.agg.block = INC_MAX_BLOCK;
	netinc_agg_start(&env.agg, start);
}

/* Everything is given back. */
static void env_end(void)
{
	netinc_agg_drain(&env.agg);
	expect(!env.held && !env.objs, "%u are held and %llu exist after the drain", env.held,
	       (unsigned long long)env.objs);
	free(env.mem);
}

static struct netinc_pkt env_pkt(u64 q)
{
	return (struct netinc_pkt){ .type = INC_PKT_CONTRIB, .flags = INC_F_PAYLOAD | INC_F_WANT,
				    .psn = (u32)q, .span = 1, .len = 64, .dtype = INC_TYPE_I32,
				    .dop = INC_OP_SUM };
}

/* The payload of @child for block @q. */
static u64 env_input(u32 child, u64 q)
{
	return (child + 1) * 7919 + q * 31;
}

static int env_contrib(u32 child, struct netinc_pkt pkt, u64 value, u64 now)
{
	struct env_obj *o = env_new(value);
	struct netinc_pay pay = { .obj = o, .len = pkt.len, .flags = pkt.flags };
	int err;

	o->desc.count = cpu_to_be64(pkt.sig);
	netinc_agg_buffer_begin(&env.agg);
	err = netinc_agg_contrib(&env.agg, child, &pkt, &pay, now);
	env_put(o);
	return err;
}

/* Each as a buffer of its own. */
static inline void env_packet_end(u32 child, u64 now)
{
	netinc_agg_buffer_begin(&env.agg);
	netinc_agg_packet_end(&env.agg, child, now);
}

static inline bool env_probe(u32 child, const struct netinc_pkt *pkt, const struct inc_probe *probe,
			     u64 now)
{
	netinc_agg_buffer_begin(&env.agg);
	return netinc_agg_probe(&env.agg, child, pkt, probe, now);
}

/* Partials that were sent before @before go again, whether or not for the first time. */
static inline u32 env_repeat_up(u64 q, u32 n, const __be32 *have, u64 before, u64 now)
{
	struct netinc_repeat r = { .have = have, .before = before, .again = before, .slow = true };

	return netinc_agg_repeat_up(&env.agg, q, n, &r, now);
}

static inline int env_give(u32 child, u64 q, u64 now)
{
	return env_contrib(child, env_pkt(q), env_input(child, q), now);
}

/* What the children's contributions to @q make in child order. */
static inline u64 env_expected(u64 q)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < env.agg.children; i++)
		sum = env_mix(sum, env_input(i, q));
	return sum;
}

/* The next thing that was sent and not looked at yet is this. */
static u32 env_seen;

static inline bool env_sent_at(const char *file, int line, char kind, u32 child, u64 q, u32 span)
{
	const struct env_out *o = &env.log[env_seen];

	if (env_seen >= env.logged) {
		if (ktap_fail(file, line))
			printf("nothing was sent, expected %c\n", kind);
		return false;
	}
	env_seen++;
	if (o->kind == kind && o->child == child && o->q == q && o->span == span)
		return true;
	if (ktap_fail(file, line))
		printf("%c to %d for %llu + %u was sent, expected %c to %d for %llu + %u\n",
		       o->kind, (int)o->child, (unsigned long long)o->q, o->span, kind, (int)child,
		       (unsigned long long)q, span);
	return false;
}

/* The header @pkt is @expected, with what the epoch adds to it. */
static inline void env_header_at(const char *file, int line, const struct netinc_pkt *pkt,
				 struct netinc_pkt expected)
{
	struct inc_hdr is, should;

	expected.group = ENV_GROUP;
	expected.incarnation = ENV_INCARNATION;
	expected.epoch = ENV_EPOCH;
	expected.cookie = ENV_COOKIE;
	memset(&is, 0, sizeof(is));
	memset(&should, 0, sizeof(should));
	netinc_build(&is, pkt);
	netinc_build(&should, &expected);
	if (memcmp(&is, &should, sizeof(is)) && ktap_fail(file, line))
		printf("type %u: flags %#x, expected %#x; psn %u + %u, expected %u + %u; child %u, expected %u; tree %u, expected %u; or another field\n",
		       pkt->type, pkt->flags, expected.flags, pkt->psn, pkt->span, expected.psn,
		       expected.span, pkt->child, expected.child, pkt->tree, expected.tree);
}

/* The last control packet of the type that is expected. */
static inline void env_control_at(const char *file, int line, struct netinc_pkt expected)
{
	env_header_at(file, line, &env.header[expected.type], expected);
}

static void env_count_at(const char *file, int line, const char *name, u64 value, u64 expected)
{
	if (value != expected && ktap_fail(file, line))
		printf("%s is %llu, expected %llu\n", name, (unsigned long long)value,
		       (unsigned long long)expected);
}

#define expect_sent(kind, child, q, span) \
	env_sent_at(__FILE__, __LINE__, kind, child, q, span)
#define expect_header(what, ...) \
	env_control_at(__FILE__, __LINE__, (struct netinc_pkt){ .type = (what), __VA_ARGS__ })
#define expect_quiet() \
	expect(env_seen == env.logged, "%u more were sent", env.logged - env_seen)
#define expect_count(counter, n) \
	env_count_at(__FILE__, __LINE__, #counter, env.counters[INC_C_##counter], n)

#endif
