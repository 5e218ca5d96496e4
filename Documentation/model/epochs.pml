/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group through its epochs: nodes die or are taken for dead, ranks move, join, contribute again, and leave. Rules 1
 * to 3, 5 to 8 and 11 of protocol.rst and of the design. README.rst says what is modelled; `run` has the instances and
 * the mutations.
 *
 *	N ranks, W blocks of window, B blocks in all (the last one is LEAVE), FAILURES
 *	SAME_NODE	every epoch is on the same node, that has restarted or was never dead; else each is on another
 *	ROOTED		results are for rank 0 only (reduce); else for all (allreduce)
 *	NO_RULE_x	leaves a rule out
 *
 * The network is the set of the packets that were ever sent: each can come again at any time, in any order, or never
 * (the rank moves on before). A step that would change nothing is not taken, so that the end of all steps is the end
 * of the run.
 *
 * Of a result the model keeps its origin: the epoch in which it was folded. Two foldings of a block need not have the
 * same bits, two copies of one result have.
 */
#ifndef N
#define N	2
#endif
#ifndef W
#define W	1
#endif
#ifndef B
#define B	4
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#define EPOCHS	(FAILURES + 1)		/* numbered from 1 */
#ifdef NO_RULE_2_TWICE_W
#define S	(2 * W - 1)
#else
#define S	(2 * W)
#endif

/* What has no data: a contribution of input that is gone, FINAL without a result; and a second run's results. */
#define NOTHING		(EPOCHS + 1)
#define EMPTY_FINAL	(EPOCHS + 2)
#define SECOND_RUN	(EPOCHS + 3)

#define BIT(i)		(1 << (i))
#define BELOW(b)	(BIT(b) - 1)
#define ALL		BELOW(N)
#define FIRST(set)	(!((set) & 1) -> 0 : (!((set) & 2) -> 1 : (!((set) & 4) -> 2 : (!((set) & 8) -> 3 : \
			(!((set) & 16) -> 4 : (!((set) & 32) -> 5 : 6))))))

#ifdef ROOTED
#define WANTS(r, b)	((r) == 0 && (b) < B - 1)
#else
#define WANTS(r, b)	((b) < B - 1)
#endif

#ifdef SAME_NODE
#define NODES		1
#define NODE(e)		0
#else
#define NODES		EPOCHS
#define NODE(e)		((e) - 1)
#endif

#define JOINING	0
#define IN	1
#define GONE	2

/* A word at the end of every assertion says what has failed: never true, no part of the state. */
#ifdef TRAIL
#define WORD	byte
#else
#define WORD	hidden byte
#endif
WORD incomplete;		/* a result that was not folded from all inputs */
WORD withheld;		/* an empty result for a rank that wants it */
WORD differs;		/* results of a block that do not have the same bits */
WORD rule_3;		/* a rank has the result p + W, another one lacks one <= p */
WORD not_kept;		/* a rank has nothing to contribute any more */
WORD reused;		/* a slot emptied while a rank may ask for its result */
WORD stuck;		/* nothing can happen, and some rank lacks results */

/* ranks */
byte state[N] = IN;
byte epoch[N] = 1;		/* that the rank is in, or joins */
byte got[N];			/* set of blocks whose results are here, of any epoch */
byte egot[N];			/* and of this one */
byte origin[B];			/* of the result that ranks have */

/* the network: what has been sent */
#define CON(e, r, b)	con[((e) * N + (r)) * B + (b)]
#define RES(e, b)	res[(e) * B + (b)]
#define TOLD(e, b)	told[(e) * B + (b)]
byte con[(EPOCHS + 1) * N * B];	/* 0, the epoch: an ordinary contribution, an older one: FINAL of that origin */
byte res[(EPOCHS + 1) * B];	/* 0, or the result's origin */
byte told[(EPOCHS + 1) * B];	/* set of ranks whose WANT the node had when it sent it: others get it empty */
byte join[(EPOCHS + 1) * N];	/* 0, or `next` + 1 */
byte ready[EPOCHS + 1];		/* 0, or `start` + 1 */
byte moved = 1;			/* highest epoch of a MOVE */

/* nodes */
byte runs[NODES];		/* the epoch that the node knows */
byte joined[NODES];
byte q[NODES * S];
byte have[NODES * S];
byte fin[NODES * S];		/* 0, or what was FINAL */
byte lacks[NODES * S];		/* a contribution without data, or of an older epoch */
byte done[NODES * S];
byte dead[EPOCHS + 1];		/* the epoch's root is */
byte failures;
#ifdef NO_RULE_6_ONE_RUN
byte again[EPOCHS + 1];
#define FOLDED(e)	(again[e] -> SECOND_RUN : (e))
#define BEGUN(e)	(ready[e] && !again[e])
#define SERVED(p)	(ready[runs[p]] && joined[p] == ALL)
#else
#define BEGUN(e)	ready[e]
#define SERVED(p)	ready[runs[p]]
#define FOLDED(e)	(e)
#endif

#define SLOT(p, b)	((p) * S + (b) % S)
#define NEXT(r)		FIRST(got[r])
#define START(r)	(ready[epoch[r]] - 1)

/* Rule 1: results of this epoch, not of older ones. */
#ifdef NO_RULE_1_THIS_EPOCH
#define WINDOW_FROM(r)	FIRST(got[r] | BELOW(START(r)))
#else
#define WINDOW_FROM(r)	FIRST(egot[r] | BELOW(START(r)))
#endif

/* Rule 8: what a rank keeps of what it needs no more itself. */
#ifdef NO_RULE_8_W_BLOCKS
#define KEPT(r, b)	((b) + W - 1 >= NEXT(r))
#else
#define KEPT(r, b)	((b) + W >= NEXT(r))
#endif
#ifdef NO_RULE_8_INPUT
#define KEPT_INPUT(r, b) false
#else
#define KEPT_INPUT(r, b) KEPT(r, b)
#endif

inline contribute(r, b)
{
	if
	:: !(got[r] & BIT(b)) -> CON(epoch[r], r, b) = epoch[r]
#ifndef NO_RULE_7_FINAL
	:: (got[r] & BIT(b)) && WANTS(r, b) ->
		assert(KEPT(r, b) || not_kept);
		CON(epoch[r], r, b) = origin[b]
#endif
	:: else ->
#ifdef NO_RULE_8_EMPTY
		CON(epoch[r], r, b) = EMPTY_FINAL
#else
		CON(epoch[r], r, b) = (KEPT_INPUT(r, b) || b == B - 1 -> epoch[r] : NOTHING)
#endif
	fi
}

inline deliver(r, e, b)
{
	printf("rank %d gets the result of block %d of epoch %d, from %d\n", r, b, e, RES(e, b));
	assert(!WANTS(r, b) || RES(e, b) <= EPOCHS || RES(e, b) == SECOND_RUN || incomplete);
	assert(!WANTS(r, b) || (TOLD(e, b) & BIT(r)) || withheld);
	if
	:: WANTS(r, b) && !origin[b] -> origin[b] = RES(e, b)
	:: else
	fi;
	assert(!WANTS(r, b) || origin[b] == RES(e, b) || differs);
	got[r] = got[r] | BIT(b);
	i = 0;
	do
	:: i < N -> assert(b < W || (got[i] & BELOW(b - W + 1)) == BELOW(b - W + 1) || rule_3); i++
	:: i == N -> break
	od;
	i = 0
}

inline wipe(s)
{
	have[s] = 0;
	fin[s] = 0;
	lacks[s] = 0;
	done[s] = 0
}

/* Forget what was sent in epochs that all ranks have left, but for the last one: nobody takes it any more. */
inline forget()
{
	i = 1;
	do
	:: i + 1 < epoch[0] && i + 1 < epoch[1] && i + 1 < epoch[N - 1] ->
		j = 0;
		do
		:: j < N * B -> con[i * N * B + j] = 0; j++
		:: else -> break
		od;
		j = 0;
		do
		:: j < B -> RES(i, j) = 0; TOLD(i, j) = 0; j++
		:: else -> break
		od;
		j = 0;
		do
		:: j < N -> join[i * N + j] = 0; j++
		:: else -> break
		od;
		ready[i] = 0;
		dead[i] = 0;
#ifndef SAME_NODE
		runs[NODE(i)] = 0;
		joined[NODE(i)] = 0;
		j = 0;
		do
		:: j < S -> wipe(NODE(i) * S + j); q[NODE(i) * S + j] = 0; j++
		:: else -> break
		od;
#endif
		i++
	:: else -> break
	od;
	i = 0; j = 0
}

inline move(r, e)
{
	epoch[r] = e;
	state[r] = JOINING;
	egot[r] = 0;
	printf("rank %d joins epoch %d, next %d\n", r, epoch[r], NEXT(r));
	join[epoch[r] * N + r] = NEXT(r) + 1;	/* inlines are text: e may have been epoch[r] + 1 */
#ifndef NO_RULE_6_MOVE
	if
	:: epoch[r] > moved -> moved = epoch[r]
	:: else
	fi;
#endif
	forget()
}

#define BLOCKS(X)	X(0) X(1) X(2) X(3) X(4) X(5)
#define RANKS(X)	X(0) X(1) X(2)

/* Rule 7: every block from `start` on, once. */
#ifdef NO_RULE_7_EVERY
#define OWES(r, b)	(!(got[r] & BIT(b)))
#define BEFORE(r, b)	((got[r] & BIT((b) - 1)) || CON(epoch[r], r, (b) - 1))
#else
#define OWES(r, b)	true
#define BEFORE(r, b)	CON(epoch[r], r, (b) - 1)
#endif

/* Rule 11: LEAVE when all results are here. */
#define SEND(b) \
	:: d_step { (b) < B && state[r] == IN && (b) >= START(r) && !CON(epoch[r], r, b) && OWES(r, b) && \
		    ((b) == START(r) || BEFORE(r, b)) && (b) < WINDOW_FROM(r) + W && \
		    ((b) < B - 1 || NEXT(r) >= B - 1) -> \
		contribute(r, b); \
		printf("rank %d sends block %d in epoch %d: %d\n", r, b, epoch[r], CON(epoch[r], r, b)) }

#define RESULT(b) \
	:: d_step { (b) < B && state[r] == IN && RES(epoch[r], b) && !(egot[r] & BIT(b)) && CON(epoch[r], r, b) -> \
		egot[r] = egot[r] | BIT(b); deliver(r, epoch[r], b) }

#ifdef NO_RULE_6_NOTHING_OLD
#define OLD_RESULT(b) \
	:: d_step { (b) < B && state[r] != GONE && epoch[r] > 1 && RES(epoch[r] - 1, b) && !(got[r] & BIT(b)) && \
		    CON(epoch[r] - 1, r, b) -> \
		deliver(r, epoch[r] - 1, b) }
#else
#define OLD_RESULT(b)
#endif

/* Another rank has moved; or the node answers that it knows a higher epoch. */
#define HEAR(e) \
	:: d_step { (e) <= EPOCHS && (e) <= moved && epoch[r] < (e) && state[r] != GONE -> move(r, e) }

#define LEAVE		(B - 1)
#if defined(NO_RULE_11_LEAVE)
#define MAY_GO(r)	(NEXT(r) >= LEAVE)
#elif defined(NO_RULE_11_RESULT)
#define MAY_GO(r)	(runs[NODE(epoch[r])] == epoch[r] && q[SLOT(NODE(epoch[r]), LEAVE)] == LEAVE && \
			(have[SLOT(NODE(epoch[r]), LEAVE)] & BIT(r)))
#else
#define MAY_GO(r)	(egot[r] & BIT(LEAVE))
#endif

proctype rank(byte r)
{
	byte i, j;
end:
	do
	BLOCKS(SEND)
	BLOCKS(RESULT)
	BLOCKS(OLD_RESULT)
	HEAR(2)
	HEAR(3)
	HEAR(4)
	:: d_step { state[r] == JOINING && ready[epoch[r]] ->
		printf("rank %d is READY in epoch %d from block %d on\n", r, epoch[r], START(r));
		state[r] = IN }
#ifndef NO_RULE_5
	:: d_step { state[r] != GONE && dead[epoch[r]] -> move(r, epoch[r] + 1) }
#endif
	/* taken for dead: nothing of it has come for long */
	:: d_step { state[r] != GONE && failures < FAILURES && !dead[epoch[r]] ->
		failures++;
		printf("rank %d takes the node of epoch %d for dead\n", r, epoch[r]);
		move(r, epoch[r] + 1) }
	:: d_step { state[r] == IN && MAY_GO(r) ->
		printf("rank %d is gone\n", r);
		state[r] = GONE }
	od
}

/* All JOINs are in: begin at the lowest `next`. */
#ifdef NO_RULE_6_ALL_JOINS
#define ENOUGH(p)	true
#else
#define ENOUGH(p)	(joined[p] == ALL)
#endif
#ifdef NO_RULE_6_MIN
#define BETTER(a, b)	((a) > (b))
#else
#define BETTER(a, b)	((a) < (b))
#endif

inline begin(p)
{
	i = 0;
	j = 0;
	do
	:: i < N ->
		if
		:: (joined[p] & BIT(i)) && (!j || BETTER(join[runs[p] * N + i], j)) -> j = join[runs[p] * N + i]
		:: else
		fi;
		i++
	:: i == N -> break
	od;
	ready[runs[p]] = j;
	printf("node %d begins epoch %d at block %d\n", p, runs[p], j - 1);
	j--;
	i = 0;
	do
	:: i < S ->
#ifdef NO_RULE_6_DROP_SLOTS
		if
		:: q[SLOT(p, j + i)] < j -> wipe(SLOT(p, j + i)); q[SLOT(p, j + i)] = j + i
		:: else
		fi;
#else
		wipe(SLOT(p, j + i));
		q[SLOT(p, j + i)] = j + i;
#endif
		i++
	:: i == S -> break
	od;
	i = 0; j = 0
}

#ifdef NO_RULE_7_ALL
#define COMPLETE(p, s)	(have[s] == ALL || fin[s])
#else
#define COMPLETE(p, s)	(have[s] == ALL)
#endif

/* A contribution sent in epoch e. */
inline take(p, e, r, b)
{
	i = SLOT(p, b);
	if
	:: q[i] != b ->
		j = 0;
		do
		:: j < N -> assert((got[j] & BIT(q[i])) || reused); j++
		:: j == N -> break
		od;
		j = 0;
		wipe(i);
		q[i] = b
	:: else
	fi;
	have[i] = have[i] | BIT(r);
	printf("node %d has block %d of rank %d\n", p, b, r);
	if
	:: CON(e, r, b) == EMPTY_FINAL -> fin[i] = (fin[i] -> fin[i] : NOTHING)
	:: CON(e, r, b) == NOTHING -> lacks[i] = 1
	:: CON(e, r, b) == e
	:: else -> fin[i] = CON(e, r, b)
	fi;
	if
	:: COMPLETE(p, i) ->
		done[i] = 1;
		TOLD(runs[p], b) = have[i];
		RES(runs[p], b) = (fin[i] -> fin[i] : (lacks[i] -> NOTHING : FOLDED(runs[p])))
	:: else
	fi;
	i = 0
}

/* What a node does in an epoch that all ranks have left changes nothing for them. */
#define NEEDED(e)	(epoch[0] <= (e) || epoch[1] <= (e) || epoch[N - 1] <= (e))
#define SERVES(p)	(runs[p] && SERVED(p) && !dead[runs[p]] && NEEDED(runs[p]))
#define TAKES(p, r, b)	((q[SLOT(p, b)] == (b) && !done[SLOT(p, b)] && !(have[SLOT(p, b)] & BIT(r))) || \
			(q[SLOT(p, b)] + S == (b) && done[SLOT(p, b)]))
#define TAKE(r, b) \
	:: d_step { (r) < N && (b) < B && SERVES(p) && CON(runs[p], r, b) && TAKES(p, r, b) -> \
		take(p, runs[p], r, b) }
#ifdef NO_RULE_6_NODE_EPOCH
#define TAKE_OLD(r, b) \
	:: d_step { (r) < N && (b) < B && SERVES(p) && CON(runs[p] - 1, r, b) && TAKES(p, r, b) -> \
		take(p, runs[p] - 1, r, b) }
#else
#define TAKE_OLD(r, b)
#endif
#define TAKE_0(b)	TAKE(0, b) TAKE_OLD(0, b)
#define TAKE_1(b)	TAKE(1, b) TAKE_OLD(1, b)
#define TAKE_2(b)	TAKE(2, b) TAKE_OLD(2, b)

#define JOIN_OF(r, e) \
	:: d_step { (r) < N && (e) <= EPOCHS && NODE(e) == p && join[(e) * N + (r)] && !dead[e] && NEEDED(e) && \
		    ((e) > runs[p] || ((e) == runs[p] && !(joined[p] & BIT(r)))) -> \
		if \
		:: (e) > runs[p] -> runs[p] = e; joined[p] = 0 \
		:: else \
		fi; \
		joined[p] = joined[p] | BIT(r); \
		if \
		:: ENOUGH(p) && !BEGUN(e) -> begin(p) \
		:: else \
		fi }
#define JOINS(r)	JOIN_OF(r, 1) JOIN_OF(r, 2) JOIN_OF(r, 3) JOIN_OF(r, 4)

proctype node(byte p)
{
	byte i, j;
end:
	do
	BLOCKS(TAKE_0)
	BLOCKS(TAKE_1)
#if N > 2
	BLOCKS(TAKE_2)
#endif
	RANKS(JOINS)
	:: d_step { p == NODE(moved) && failures < FAILURES && !dead[moved] ->
		failures++;
		printf("node %d dies\n", p);
#ifdef NO_RULE_6_ONE_RUN
		/* it has lost its slots, and begins the same epoch again when JOINs come, new ones or copies */
		again[moved] = 1;
		joined[p] = 0;
		runs[p] = 0
#else
		dead[moved] = 1
#endif
	     }
	od
}

init
{
	byte i;

	atomic {
		i = 0;
		do
		:: i < N -> join[N + i] = 1; i++
		:: else -> break
		od;
		runs[0] = 1;
		joined[0] = ALL;
		ready[1] = 1;
		i = 0;
		do
		:: i < S -> q[i] = i; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < N -> run rank(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NODES -> run node(i); i++
		:: else -> break
		od;
		i = 0
	}
	timeout -> assert((NEXT(0) >= LEAVE && NEXT(1) >= LEAVE && NEXT(N - 1) >= LEAVE) || stuck)
}
