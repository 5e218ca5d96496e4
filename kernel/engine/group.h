/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group at a node: who its members are, in which epoch it is, and the aggregator that serves it.
 *
 *  JOINING --all JOINs in--> ACTIVE --ranks disagree--> RESYNC --all JOINs in--> ACTIVE (epoch + 1)
 *     |                        |  \--all LEAVE--> LEFT      |
 *     |                        \--rank dead, aborted, late, node removed--> FAILED
 *     \--last member gone--> FAILED
 *  any --JOIN of a later move: the group has been elsewhere, or has taken us for dead--> JOINING
 *
 * A group that shrinks is a new one, made for the members of one that has failed: see
 * group_shrink.c.
 *
 * A FAILED group answers its members for twice the dead limit and then expires; earlier when none
 * wants to hear of it any more. One that all have left, or that never formed, expires at once.
 */
#ifndef NETINC_ENGINE_GROUP_H
#define NETINC_ENGINE_GROUP_H

#include "aggregator.h"
#include "endpoint.h"
#include "uplink.h"

#define NETINC_MAX_GONE	16
/* nonces of nodes that have begun anew, or left, while the group formed: the last ones */
#define NETINC_MAX_FORMER	8

/* Set when the group is made, and then only read; but `size` gets less when the group shrinks. */
struct netinc_group_cfg {
	u64 job;		/* number of the job; jobs may use the same group numbers */
	u32 id;			/* number of the group in its job */
	u8 stripe;		/* INC_STRIPE(): of a striped group each is a group of its own */
	u32 incarnation;	/* random number of this run of the group, never 0 */
	u32 size;		/* ranks, 1..INC_MAX_RANKS; of the ancestor until it has shrunk */
	u32 block;		/* bytes of payload: memory is reserved for no larger ones */
	struct netinc_settings settings;
	u64 secret[2];		/* cookies are made from it */
	/* the node has a parent, which is asked when not all ranks of the group come here */
	bool has_parent;
	u16 up_block;		/* bytes of payload that the path to the parent carries */
	u32 up_nonce;		/* random number for our JOINs there */
	u8 up_key[INC_KEY_LEN];	/* these are proved with it */
	/* random number that the group keeps when it moves; of a group that comes here: its own */
	u64 lineage;
	u32 move;		/* number of the move that brings the group here, 0: none */
	/*
	 * that move leads back to the tree of nodes that the group formed over: it gathers here as
	 * a new one does, and nobody has results that others lack
	 */
	bool returns;
	bool spread;		/* at the edge: the other ranks' hosts are roots of trees, too */
	u8 nstandby;		/* entries of standby[] that are used */
	/* nodes that the members may move to, in this order, as READY says */
	struct netinc_peer standby[INC_MAX_STANDBY];
	/* IP multicast group that results go to, for who hears them there; family 0: none */
	struct netinc_peer multicast;
	/* lineage of the group that failed and goes on in this one with fewer ranks, 0: none */
	u64 ancestor;
	bool known;		/* this node knows how the ancestor failed; then ngone is valid */
	bool fallback;		/* likewise: ranks of the ancestor may have gone elsewhere */
	u32 ngone;		/* ranks of the ancestor that will not come; entries of gone[] */
	u16 gone[NETINC_MAX_GONE];	/* those ranks, by their numbers in the ancestor */
};

/*
 * One child as its node knows it: a rank, or a node that stands for the ranks below it. What its
 * JOIN says is taken over by each JOIN that is accepted: the first, one for the next epoch, one
 * after a move. Children gather under the number of their lowest rank; when the first epoch begins
 * they are numbered without gaps, in that order, see group_children.c.
 */
struct netinc_member {
	/*
	 * its JOIN has been accepted; cleared when the rank is given up while the group forms, and
	 * when the group begins anew
	 */
	bool present;
	bool rejoined;		/* RESYNC: its JOIN for the next epoch is in; cleared with each */
	bool left;		/* it has contributed LEAVE in this epoch */
	/* JOINING: it has said ABORT; a JOIN with the same nonce is a late copy */
	bool aborted;
	/* it has sent a packet with the cookie of this epoch, so it has READY */
	bool confirmed;
	bool gone;		/* it is dead or closed; cleared when it joins again */
	/* shrinking: it has ended where the ancestor failed, see netinc_group_ended() */
	bool ended;
	/* it has said that it wants nothing more of the group; cleared when it joins again */
	bool done;
	/*
	 * JOINING: not all ranks below the node have been heard lately; or the rank, whose group is
	 * to return, is elsewhere still
	 */
	bool stale;
	/* a node: some that it folds is no node of the tree of reduce/order.h, as its JOIN said */
	bool tree_order;
	bool canonical;		/* that order is asked for all the same, as its JOIN said */
	bool many_parts;	/* a node: and cannot be had, as its JOIN said */
	/* JOINING: what its JOIN said in struct inc_join_kinds */
	struct netinc_kinds lacks;
	struct netinc_kinds asks;
	u8 height;		/* levels of nodes from it down, 0: it is a rank */
	u16 window;		/* a node: blocks that it has slots for */
	u32 low;		/* its lowest rank, by which it is known on the wire */
	u32 ranks;		/* how many are below it; a rank: 1 */
	/* nodes of the tree of reduce/order.h that these make; valid where parts are looked at */
	u32 parts;
	u32 old;		/* its rank in the ancestor, set by netinc_shrink() */
	u32 nonce;		/* random number of this life of the rank, as its JOIN said */
	u32 epoch;		/* number of the last epoch that it knew, as its JOIN said */
	/* operations before this number it had contributed to in any epoch, as its JOIN said */
	u32 begun;
	u16 block;		/* bytes of payload that its path carries, as its JOIN said */
	u32 srtt;		/* microseconds, as its JOIN said */
	u64 next;		/* first block whose result it lacked, as its JOIN said */
	/* it has all results of this epoch before this block, as its PROBEs say; never goes back */
	u64 una;
	/* number that its packets of this epoch carry; new with each epoch */
	u64 cookie;
	/* time of its last packet, or of what counts like one: the epoch's beginning, a stall */
	u64 heard;
	u32 buffer;		/* netinc_group.buffer when it was answered last */
	/* enum netinc_group_answer: how in that buffer; cleared with the next one */
	u8 answered;
	u64 probed;		/* time of the last PROBE that was answered as a rare one */
	/*
	 * where it joined from, or has said since, and proved, that it is: packets from elsewhere
	 * are dropped
	 */
	struct netinc_peer peer;
	u64 rebound;		/* time when it was elsewhere last; 0: never */

	/* results by IP multicast, see group_multicast.c: anew with each epoch */
	bool hears;		/* its last PROBE has shown that it does */
	bool listened;		/* a PROBE has said that it is in the IP multicast group */
	u32 call_needed;	/* number of the first call by which it may show that it hears */
	/* netinc_child.resent and netinc_agg.una when it was looked at last how much it loses */
	u32 resent_before;
	u64 una_before;
	u64 told;		/* time when it was told of the group last, or called */
	u64 tell_pause;		/* microseconds until it may be again; gets longer */
};

struct netinc_group;

struct netinc_group_ops {
	/*
	 * Queue a control packet for member @child or NETINC_ALL; @body of @len bytes follows the
	 * header.
	 */
	void (*send)(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
		     const void *body, u32 len);
	/* @rank: NETINC_NO_RANK if none is concerned */
	void (*event)(struct netinc_group *g, enum inc_event event, u32 rank);
	/*
	 * The JOIN of @rank at hand has been accepted: what is for it goes to @peer from now on.
	 * False: no memory, the JOIN is refused. A member's path changes here and nowhere else.
	 */
	bool (*link)(struct netinc_group *g, u32 rank, const struct netinc_peer *peer);
	/*
	 * Has the JOIN at hand come from the port of child @child, behind the address that both may
	 * have? NULL: nobody translates addresses.
	 */
	bool (*same_port)(const struct netinc_group *g, u32 child);
	/*
	 * Can member @child, a rank, be reached by multicast at all? NULL: all can. What has
	 * pkt->multicast goes to cfg.multicast, once.
	 */
	bool (*multicast)(struct netinc_group *g, u32 child);
	/*
	 * With an ancestor, or where nodes are children: the path of member @from belongs to member
	 * @to from now on, whose own is not used any more.
	 */
	void (*renumber)(struct netinc_group *g, u32 from, u32 to);
	/*
	 * Only with a parent: queue a control packet for it; @body of @len bytes follows the
	 * header.
	 */
	void (*send_up)(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			u32 len);
};

struct netinc_group {
	const struct netinc_group_ops *ops;
	struct netinc_group_cfg cfg;
	u8 state;		/* enum inc_group_state, see above */
	u32 epoch;		/* number of the last epoch that has begun, 0: none; only grows */
	/* children: entries of members[] that are used; cfg.size while they gather */
	u32 nmembers;
	u32 joined;		/* ranks that have come: those of members that are `present` */
	/* nonces that are not to come again, the oldest is replaced; cleared when it begins anew */
	u32 former[NETINC_MAX_FORMER];
	u32 nformer;		/* so many have been added */
	u8 height;		/* levels of nodes below this one, 0: there are none */
	u8 levels;		/* the same below the root, of the whole group */
	/* folds do not follow the tree of reduce/order.h: set when the first epoch begins */
	bool tree_order;
	u32 nleft;		/* members that have `left`; 0 when an epoch begins */
	u64 leave;		/* the block at which they leave, valid if there is one */
	u64 resync;		/* RESYNC: time at which the first one has joined again */
	u32 rejoined;		/* RESYNC: members that have `rejoined`; 0 when an epoch begins */
	u16 block;		/* bytes of payload of a block: the smallest of the members' */
	/* sequence number of the epoch's first operation, 0 in the first; set when it begins */
	u32 opseq;
	/* some rank has contributed to operations before this number; set when an epoch begins */
	u32 begun;
	u64 down_cookie;	/* number that packets to members carry, new with each epoch */
	/*
	 * time of FAILED or LEFT, from which on it expires; JOINING: time since which nobody is
	 * present; 0: neither, and again when a rank joins or the group begins anew
	 */
	u64 ended;
	u64 ready_sent;		/* time at which READY went last to those who may not have it */
	u32 ready_pause;	/* microseconds until it goes again, 0: all have it */
	u32 ready_next;		/* the member, or one past the last, from which on it is repeated */
	u64 ticked;		/* time of the last netinc_group_tick(), 0: none yet */
	u64 late_block;		/* block for which RANK_LATE has been reported last */
	/* rank that has been reported for it, NETINC_NO_RANK: none, or it has come since */
	u32 late_rank;
	u32 move;		/* number of the move that brought the group here, 0: none */
	/* the first epoch has begun: who is below whom does not change any more */
	bool settled;
	/*
	 * an epoch has begun, so the slots are in use; cleared when the group begins anew, until
	 * the next one begins
	 */
	bool running;
	/*
	 * JOINING after a move, or shrinking: time of the first JOIN, 0: there was none; cleared
	 * when an epoch begins
	 */
	u64 forming;
	u64 late_since;		/* time of the first contribution to late_block */
	/* microseconds that late_block waited: so far (RANK_LATE), or in all (RANK_BACK) */
	u64 late_us;
	u64 restarted;		/* time at which a later move began it anew last; 0: never */
	u64 news;		/* JOINING: time at which the last rank came that had not yet */
	/*
	 * JOINING, all have come: time since which the silent ones are called, 0: they are not;
	 * cleared when a rank comes, and by the tick when one has gone or the group has formed
	 */
	u64 called;
	u64 next_call;		/* time before which they are not called again, 0: they may be */
	/* microseconds: the longest pause that a WAIT has told a rank; only grows */
	u32 longest_pause;
	u32 old_size;		/* ranks of the ancestor, 0: there is none; never changes */
	u32 shrunk;		/* epoch in which the group formed with fewer ranks, 0: not yet */
	/* number of the received buffer at hand; counts up and wraps */
	u32 buffer;
	/* results by IP multicast, see group_multicast.c */
	struct {
		u32 call;	/* number of the last call, 0: there was none; counts up */
		bool due;	/* the next tick, which is to come soon, is to send one */
		u32 hearing;	/* members that hear */
		u32 changes;	/* how often one has begun or ceased to; counts up and wraps */
	} multicast;
	/* what a child, a node, has said of its block that cannot be completed; code 0: none has */
	struct netinc_error reported;
	/*
	 * error that ended the epoch or the group, code INC_ERR_NONE: none; cleared when an epoch
	 * begins and when the group begins anew
	 */
	struct netinc_error error;
	struct netinc_agg agg;	/* slots of the tree whose root is here */
	struct netinc_uplink up;
	/*
	 * the host of rank 0 where that is below a node, or not below here at all, as the child's
	 * JOIN or the parent's READY says; family 0: not known
	 */
	struct netinc_peer edge;
	/* [cfg.size], [nmembers] are used; like `owner` in the memory of netinc_group_init() */
	struct netinc_member *members;
	/* [cfg.size]: 1 + the member that the rank is below, 0: none; while children gather */
	u16 *owner;
	u64 counters[__INC_C_MAX];	/* enum inc_counter, over the group's life */
};

/* Zeroed memory that netinc_group_init() wants at @mem. */
size_t netinc_group_bytes(u32 size, u32 window);
void netinc_group_init(struct netinc_group *g, const struct netinc_group_cfg *cfg, void *mem,
		       const struct netinc_group_ops *ops, const struct netinc_agg_ops *agg_ops);

/*
 * A JOIN whose challenge and proof have been checked, or that carries a member's cookie. @peer:
 * where it came from. Answers by itself (WAIT, READY) where the JOIN is accepted, else returns the
 * enum inc_refuse_code and @detail.
 */
int netinc_group_join(struct netinc_group *g, const struct netinc_pkt *pkt,
		      const struct inc_join *join, const struct netinc_peer *peer, u64 now,
		      u64 *detail);

/* group_epoch.c: an epoch begins */
/* With this cookie @child, as it is known on the wire, proves that it is a member of @epoch. */
u64 netinc_group_member_cookie(const struct netinc_group *g, u32 epoch, u32 child);
/* All JOINs are in: a new epoch, from the lowest block that anybody lacks. */
void netinc_group_begin_epoch(struct netinc_group *g, u64 now);
/* READY of the parent: the epoch begins here, too. 0 or a negative counter. */
int netinc_group_ready(struct netinc_group *g, const struct netinc_pkt *pkt,
		       const struct inc_ready *ready, u64 now);

/*
 * Has the sender of this JOIN been a member since the group formed? A group that is over answers
 * such a one only: it has lost READY, or the error, and must not wait for others in the next run.
 */
bool netinc_group_knows(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join, const struct netinc_peer *peer);

/*
 * Is this the group of that lineage, for a JOIN without incarnation of that move? May be asked
 * without its lock. One that returns to a tree of nodes is apart from what is left of it there, and
 * from where it may be here at the moment.
 */
bool netinc_group_is_for(const struct netinc_group *g, u64 lineage, u32 move, bool returns);

/*
 * Does the group begin anew here with this JOIN? Only with one that was challenged and proved
 * (which one that names the incarnation is not), of a rank that knows the lineage.
 */
bool netinc_group_moves(const struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct inc_join *join);

/*
 * The checks that every packet of a member must pass: child, cookie, port, epoch. Returns 0 or a
 * negative counter, which has been counted. pkt->child, by which the member is known on the wire,
 * becomes its number here.
 */
int netinc_group_check(struct netinc_group *g, struct netinc_pkt *pkt,
		       const struct netinc_peer *peer, u64 now);

/*
 * A received buffer begins. Whatever is in it, it is answered with at most 64 results (and, with
 * policy `partial`, as many PARTIALs), one STATUS, ERROR, WAIT, PEERS and 16 NACKs per member, and
 * costs 64 W looks at a block, or 32768 if that is more: the rest is dropped.
 */
void netinc_group_buffer_begin(struct netinc_group *g);
/* A contribution that has passed; the caller ends the packet with netinc_agg_packet_end(). */
int netinc_group_contrib(struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct netinc_pay *pay, u64 now);
/*
 * A contribution that has passed, but is not read: its sender is told with STATUS that it has come.
 */
void netinc_group_ignored(struct netinc_group *g, const struct netinc_pkt *pkt);
/*
 * While little can be afforded: may this PROBE of @child be answered? A few can per dead limit,
 * enough to show life.
 */
bool netinc_group_rare_probe(struct netinc_group *g, u32 child, u64 now);
/* PROBE and ABORT. @body: all of it, pkt->len bytes. */
int netinc_group_control(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
			 u64 now);

/*
 * group_parent.c: a packet from the parent: RESULT (@pay), or another one (@body: all of it). 0 or
 * a negative counter, which has been counted.
 */
int netinc_group_result(struct netinc_group *g, const struct netinc_pkt *pkt,
			const struct netinc_pay *pay, u64 now);
int netinc_group_from_parent(struct netinc_group *g, const struct netinc_pkt *pkt,
			     const void *body, u64 now);
/* Ends the group here if up.lost says that the parent is lost, or says nothing of an error. */
void netinc_parent_lost(struct netinc_group *g, u64 now);

/* Is it over, and does no member need it any more? The next netinc_group_tick() says so, too. */
bool netinc_group_is_done(const struct netinc_group *g);
/*
 * Call a few times per dead limit: finds dead and late members. True: the group has expired, free
 * it.
 */
bool netinc_group_tick(struct netinc_group *g, u64 now);

/*
 * group_late.c: reports late members, and completes blocks without them if the policy says so.
 * Returns the rank because of which the group is to fail, NETINC_NO_RANK: none.
 */
u32 netinc_group_check_late(struct netinc_group *g, u64 now);

/* group_multicast.c: results by IP multicast */
/* An epoch has begun, and @child has been sent READY: it may be told where results go, too. */
void netinc_multicast_begin(struct netinc_group *g, u32 child, u64 now);
/* A PROBE of @child, before it is answered. */
void netinc_multicast_probed(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			     u64 now);
void netinc_multicast_tick(struct netinc_group *g);

/* Is the group over? May be asked without its lock by code that looks for a group. */
static inline bool netinc_group_over(const struct netinc_group *g)
{
	u8 state = READ_ONCE(g->state);

	return state == INC_GROUP_FAILED || state == INC_GROUP_LEFT;
}

/*
 * Does it gather for a return that may never be? Its ranks are elsewhere, where the group goes on,
 * or fails. May be asked without its lock by code that looks for a group.
 */
static inline bool netinc_group_awaits_return(const struct netinc_group *g)
{
	return g->cfg.returns && !READ_ONCE(g->epoch);
}

/* Is it one over several nodes whose ranks go elsewhere when one of these is lost? */
static inline bool netinc_group_may_move(const struct netinc_group *g)
{
	return g->levels && g->cfg.settings.fallback;
}

/*
 * Microseconds of silence after which one of two nodes has lost the other. Where ranks go elsewhere
 * then, those who have lost a node at once wait there for the others, for the dead limit.
 */
static inline u64 netinc_group_node_limit(const struct netinc_group *g)
{
	u64 dead = g->cfg.settings.dead_ms * NETINC_MS;

	return netinc_group_may_move(g) ? dead - dead / 4 : dead;
}

/* group_children.c: which ranks are below which child */
void netinc_children_init(struct netinc_group *g);
/* The child that is known by @number on the wire, NETINC_NO_RANK: none is. */
u32 netinc_group_child(const struct netinc_group *g, u32 number);
/* Is @rank below @child? */
bool netinc_children_has(const struct netinc_group *g, u32 child, u32 rank);
/* The host of rank 0, family 0: not known. */
const struct netinc_peer *netinc_group_edge(const struct netinc_group *g);
/* The lowest rank that is below a child, NETINC_NO_RANK: there is none. */
u32 netinc_children_lowest(const struct netinc_group *g);
/*
 * The child that a JOIN is of, or that its sender would be, NETINC_NO_RANK: there is no such
 * number.
 */
u32 netinc_children_find(const struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct inc_join *join, const struct netinc_peer *peer);
/* Lowest rank below the node that has sent this JOIN, NETINC_NO_RANK: it names none. */
u32 netinc_children_first(const struct netinc_group *g, const struct inc_join *join);
/* Is the node that has sent this JOIN child @i, which has begun anew with another nonce? */
bool netinc_children_outdated(const struct netinc_group *g, u32 i, const struct inc_join *join,
			      const struct netinc_peer *peer);
/* A node that had this nonce has begun anew, or has left: its JOINs are late copies from now on. */
void netinc_children_forget(struct netinc_group *g, u32 nonce);
bool netinc_children_former(const struct netinc_group *g, const struct inc_join *join);
/* 0 or enum inc_refuse_code: are the ranks below the sender below no other child? */
int netinc_children_check(const struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			  const struct inc_join *join, const struct netinc_peer *peer, u64 *detail);
/* These are below it from now on. Returns its number, which may have changed. */
u32 netinc_children_take(struct netinc_group *g, u32 child, const struct netinc_pkt *pkt,
			 const struct inc_join *join, const struct netinc_peer *peer);
/* It goes, for this reason, before READY has come, which the parent may be told. */
void netinc_children_gone(struct netinc_group *g, u32 child, enum inc_err_code code);
/* It is a child no more. */
void netinc_children_release(struct netinc_group *g, u32 child);
/* Levels of nodes from this one down. */
u32 netinc_children_height(const struct netinc_group *g);
/* Most blocks that all nodes among them have slots for, and this one. */
u32 netinc_children_window(const struct netinc_group *g);
/*
 * Can all of the group's contributions here be folded along the tree of reduce/order.h? Every child
 * is one of its nodes, or a rank, and has done so itself.
 */
bool netinc_children_canonical(const struct netinc_group *g);
/* Does one of the ranks ask for that order whatever it costs? */
bool netinc_children_ask_order(const struct netinc_group *g);
/*
 * Would that take more parts of a contribution than there can be, at a node below or on the way to
 * this one?
 */
bool netinc_children_many_parts(struct netinc_group *g);
/* Neither would it here, nor on the way to the parent. */
bool netinc_children_can_order(struct netinc_group *g);
/* The first epoch begins: numbers without gaps, and slots for as many children. */
void netinc_children_number(struct netinc_group *g, u32 window);

/* group_kinds.c: what nodes do not fold, and ranks ask for */
/* What this node, or one below it, does not fold, while the group forms. */
struct netinc_kinds netinc_children_lack(const struct netinc_group *g);
/* What any rank below asks for. */
struct netinc_kinds netinc_children_ask(const struct netinc_group *g);
/* What the JOIN of @m says of both, which the parent has to hear if it is new. */
void netinc_children_take_kinds(struct netinc_group *g, struct netinc_member *m,
				const struct inc_join *join);
/* 0 or enum inc_refuse_code: is nothing lacked that is asked for, when @child joins so? */
int netinc_children_check_kinds(const struct netinc_group *g, u32 child,
				const struct inc_join *join, const struct netinc_peer *peer,
				u64 *detail);
/*
 * 0 or enum inc_refuse_code: can a node that lacks @own have the group that this JOIN is the first
 * of? What comes from elsewhere finds there what it has had.
 */
int netinc_kinds_admit(struct netinc_kinds own, const struct inc_join *join, u64 *detail);

/* group_uplink.c: to the parent, and from it */
/* JOIN, for all ranks that are below this node. */
void netinc_uplink_join(struct netinc_group *g, u64 now);
/* While ranks gather: JOIN, if it is time. */
void netinc_uplink_ask(struct netinc_group *g, u64 now);
/* The parent need not wait for this node any more. */
void netinc_uplink_leave(struct netinc_group *g);
/* What is wrong here goes up, until the error comes down. */
void netinc_uplink_abort(struct netinc_group *g, const struct netinc_error *e, u64 now);
/* Nobody below wants anything more of the group: the parent need not keep it for us. */
void netinc_uplink_done(struct netinc_group *g, u64 now);
/* READY has come, and the epoch has begun here. */
void netinc_uplink_begin(struct netinc_group *g, const struct netinc_pkt *pkt,
			 const struct inc_ready *ready, u64 now);
/* A child misses a result: has it been lost above? */
void netinc_uplink_poke(struct netinc_group *g, u64 now);
/* So many results have come from the parent: are others missing? */
void netinc_uplink_results(struct netinc_group *g, u32 blocks, u64 now);
/* What every packet from the parent must pass. 0 or a negative counter, which has been counted. */
int netinc_uplink_check(struct netinc_group *g, const struct netinc_pkt *pkt, u64 now);
/*
 * CHALLENGE, WAIT, REFUSE, STATUS and NACK; @body: all of it. 0 or a negative counter, which has
 * not been counted. up.lost and up.left say what has come of it.
 */
int netinc_uplink_rx(struct netinc_group *g, const struct netinc_pkt *pkt, const void *body,
		     u64 now);
void netinc_uplink_tick(struct netinc_group *g, u64 now);

/* Is something to be expected from the parent soon, so that ticks should come often? */
static inline bool netinc_uplink_is_busy(const struct netinc_group *g)
{
	return (g->up.state == NETINC_UPLINK_ASKING && (g->up.news || g->up.called)) ||
	       (netinc_uplink_in_use(&g->up) && !netinc_group_over(g) &&
		(g->agg.top != g->agg.una || g->up.unanswered || g->up.abort.code));
}

/* group_form.c: a group gathers its ranks */
/* Microseconds until a rank that has been answered with WAIT is to ask again. */
u32 netinc_form_pause(struct netinc_group *g, u64 now);
/* Microseconds of silence after which a member counts as dead. */
u64 netinc_form_patience(const struct netinc_group *g);
/* Has the rank been heard lately? */
bool netinc_form_is_fresh(const struct netinc_group *g, u32 rank, u64 now);
/* Have all who have joined? */
bool netinc_form_all_heard(const struct netinc_group *g, u64 now);
/* If all ranks have come: those that have been silent are asked to show that they are there. */
void netinc_form_call(struct netinc_group *g, u64 now);
/* READY has gone to all. */
void netinc_form_ready_sent(struct netinc_group *g, u64 now);
/* READY goes once more, now and then, to those that do not show that they have it. */
void netinc_form_repeat_ready(struct netinc_group *g, u64 now);
/*
 * It gathers for as long as that takes, since nobody waits for it: it neither shrinks nor moves,
 * but back to a tree of nodes.
 */
bool netinc_form_is_new(const struct netinc_group *g);

/* group_packet.c: what a member is told */
/* WAIT. @pause: microseconds until it is to ask again, 0: at once */
void netinc_group_send_wait(struct netinc_group *g, u32 child, u32 pause);
void netinc_group_send_ready(struct netinc_group *g, u32 child);
/* Addresses of ranks @first and after it: as many as a small packet holds. */
void netinc_group_send_peers(struct netinc_group *g, u32 child, u32 first);
/* @child may be NETINC_ALL. */
void netinc_group_send_error(struct netinc_group *g, u32 child);

enum netinc_group_answer {
	NETINC_GROUP_ANSWER_STATUS = 1 << 0,
	NETINC_GROUP_ANSWER_ERROR = 1 << 1,
	NETINC_GROUP_ANSWER_WAIT = 1 << 2,
};

/* True at most once per received buffer, member and answer, however often the member asks. */
bool netinc_group_may_answer(struct netinc_group *g, u32 child, enum netinc_group_answer what);

/* group_end.c: how an epoch or the group ends */
/* An ABORT: is its sender known by the cookie of this epoch? Else it is by the nonce. */
static inline bool netinc_abort_is_known(const struct netinc_group *g, const struct netinc_pkt *pkt)
{
	return g->state != INC_GROUP_JOINING && pkt->epoch == g->epoch &&
	       pkt->cookie == g->members[pkt->child].cookie;
}

/* This node goes, and the group with it, whatever is above. */
void netinc_group_remove(struct netinc_group *g, u64 now);
/* The group is over, for everybody, because of @rank; in a tree the root decides that. */
void netinc_group_fail(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now);

/*
 * Rank @child of this run, which is at @peer, wants to go on without others, so it has seen the run
 * fail: by itself, or in another tree, where somebody is found to have left. Now it fails here,
 * too.
 */
void netinc_group_asked_to_shrink(struct netinc_group *g, const struct inc_join *join, u32 child,
				  const struct netinc_peer *peer, u64 now);

/* Callback of struct netinc_agg_ops: ranks disagree about the block of @slot. */
void netinc_group_mismatch(struct netinc_agg *agg, const struct netinc_slot *slot, u32 a, u32 b);

/* The group is over here, whatever is above. */
void netinc_end_here(struct netinc_group *g, enum inc_err_code code, u32 rank, u64 now);
/*
 * Child @child has contributed all that it will before block @b, and goes as soon as it hears that
 * it may.
 */
void netinc_end_leave(struct netinc_group *g, u32 child, u64 b, u64 now);
/* All have left, and, in a tree of nodes, nobody above asks for that again. */
void netinc_end_if_left(struct netinc_group *g, u64 now);
/* Member @rank has gone: the group fails, or goes on to gather without it. */
void netinc_end_member(struct netinc_group *g, u32 rank, enum inc_err_code code, u64 now);
/* ABORT of a member that has passed. 0 or a negative counter, which has been counted. */
int netinc_end_abort(struct netinc_group *g, const struct netinc_pkt *pkt,
		     const struct inc_error_pkt *abort, u64 now);

/* Ranks of the ancestor gather; they have their old numbers. */
static inline bool netinc_group_shrinking(const struct netinc_group *g)
{
	return g->cfg.ancestor && !g->shrunk;
}

/* Has this member died, or closed its socket, so that it will not come to go on with the others? */
static inline bool netinc_group_gone(const struct netinc_group *g, u32 rank)
{
	return g->members[rank].gone || g->members[rank].left;
}

/*
 * Is it certain that this member of a group that has failed goes on nowhere else, because it has
 * left, is closed, or has heard of the end?
 */
static inline bool netinc_group_ended(const struct netinc_group *g, u32 rank)
{
	return g->members[rank].left || g->members[rank].done;
}

/* group_tree.c */
/*
 * A tree of a group whose root is elsewhere: what the rank that lives here, the tree's number, was
 * told in READY.
 */
struct netinc_tree_cfg {
	u64 job;
	u32 id;			/* number of the group */
	u8 stripe;		/* INC_STRIPE() */
	u32 incarnation;
	u32 epoch;
	u32 size;		/* ranks, which are the children */
	u32 trees;		/* of the epoch, 2..INC_MAX_TREES */
	u32 tree;		/* number of this one, 1..trees - 1 */
	struct netinc_settings settings;
	u32 move;
	u64 lineage;
	u64 start;		/* first block of the epoch, of whichever tree */
	u32 opseq;		/* sequence number of the rank's next operation */
	u64 down_cookie;
	u64 key[2];		/* the children's up cookies are made from it */
	u16 block;		/* bytes of payload of a block */
};

void netinc_tree_describe(struct netinc_tree_cfg *tree, const struct netinc_ep *ep);
/* Fills in @cfg for netinc_group_init(). */
void netinc_tree_group_cfg(const struct netinc_tree_cfg *tree, struct netinc_group_cfg *cfg);
/* Nobody joins: it begins with its epoch at once. @peers: [size] */
void netinc_tree_begin(struct netinc_group *g, const struct netinc_tree_cfg *tree,
		       const struct netinc_peer *peers, u64 now);
/* Make, at the group's root, the key of @tree, and from a key the cookie of @child. */
void netinc_tree_key(const struct netinc_group *g, u32 tree, u64 key[2]);
u64 netinc_tree_cookie(const u64 key[2], u32 child);

/* Is it a tree whose group has its root elsewhere? */
static inline bool netinc_group_is_branch(const struct netinc_group *g)
{
	return g->agg.tree;
}

/* group_shrink.c */
/*
 * Is this JOIN of @child, from @peer, one of a member of this run, which has not failed here yet?
 * All members know the lineage that it names: which of them it is, its address says.
 */
bool netinc_shrink_asked(const struct netinc_group *g, const struct inc_join *join, u32 child,
			 const struct netinc_peer *peer);
/* Once the group has been set up: marks the members that are known not to come. */
void netinc_shrink_init(struct netinc_group *g);
/* Bit i of @ended: rank i of the ancestor goes on nowhere else. */
void netinc_shrink_ended(struct netinc_group *g, const u32 *ended);
/*
 * A JOIN, if it or the group is about shrinking: *@child becomes the sender's number here. 0 or
 * enum inc_refuse_code
 */
int netinc_shrink_check(const struct netinc_group *g, const struct inc_join *join, u32 *child,
			u64 *detail);
/* May it form with those that have come? */
bool netinc_shrink_complete(const struct netinc_group *g, u64 now);
/* Makes the group one of those that have come: numbers them anew. */
void netinc_shrink(struct netinc_group *g);

#endif
