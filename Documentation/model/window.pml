/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One epoch of one tree: the in-order window, the slots, loss, errors, memory. Rules 1, 2, 3, 4, 9, 10 and 13 of
 * protocol.rst. README.rst says what is modelled; `run` has the instances and the mutations.
 *
 *	N ranks, W blocks of window, B blocks in all, S slots, LOSSES packets that may be lost
 *	TWO_LEVELS	rank 0 and a leaf node are the root's children, ranks 1 and 2 the leaf's
 *	ERROR		the root may raise an error at any time, which a leaf passes on
 *	WRAP		block numbers on the wire wrap after 4 W
 *	CREDIT		the last rank has no payload and contributes as many blocks at once as it may
 *	HOLD=n		the node has memory for n contributions
 *	NO_RULE_x	leaves a rule out
 *
 * The network is the set of the packets that were ever sent: each can come again at any time, in any order, or never.
 * A step that would change nothing is not taken, so that the end of all steps is the end of the run.
 */
#ifndef N
#define N	2
#endif
#ifndef W
#define W	2
#endif
#ifndef B
#define B	6
#endif
#ifndef LOSSES
#define LOSSES	1
#endif

#ifdef NO_RULE_2_TWICE_W
#define S	(2 * W - 1)
#else
#define S	(2 * W)
#endif

/* Numbers on the wire are modulo PSNS. Where they wrap, no packet may live longer than 2 W blocks. */
#ifndef WRAP
#define PSNS		64
#define ALIVE(b)	true
#else
#define ALIVE(b)	((b) + 2 * W >= top)
#ifdef NO_RULE_2_PSN
#define PSNS		(2 * W)
#else
#define PSNS		(4 * W)
#endif
#endif
#define EXTEND(ref, b)	((ref) + (((b) % PSNS) - (ref) + 8 * PSNS + PSNS / 2) % PSNS - PSNS / 2)

#define BIT(i)		(1 << (i))
#define BELOW(b)	(BIT(b) - 1)
#define FIRST(set)	(!((set) & 1) -> 0 : (!((set) & 2) -> 1 : (!((set) & 4) -> 2 : (!((set) & 8) -> 3 : \
			(!((set) & 16) -> 4 : (!((set) & 32) -> 5 : (!((set) & 64) -> 6 : 7)))))))
#define COUNT(set)	(((set) & 1) + ((set) >> 1 & 1) + ((set) >> 2 & 1) + ((set) >> 3 & 1) + ((set) >> 4 & 1) + \
			((set) >> 5 & 1) + ((set) >> 6 & 1))

/* Children of nodes: the ranks, and the leaf. */
#define LEAF		N
#ifdef TWO_LEVELS
#define CHILDREN	(N + 1)
#define NODES		2
#define PARENT(c)	((c) == 1 || (c) == 2)
#define ALL(n)		((n) -> BIT(1) | BIT(2) : BIT(0) | BIT(LEAF))
#else
#define CHILDREN	N
#define NODES		1
#define PARENT(c)	0
#define ALL(n)		BELOW(N)
#endif

#define FILLING	0
#define UP	1
#define DONE	2

#define SLOT(n, x)	((n) * S + (x) % S)

/* A word at the end of every assertion says what has failed: never true, no part of the state. */
#ifdef TRAIL
#define WORD	byte
#else
#define WORD	hidden byte
#endif
WORD misread;		/* a packet is taken for one of another block */
WORD miscounted;		/* a block is complete without everybody's contribution, once */
WORD rule_3;		/* a rank has the result p + W, another one lacks one <= p */
WORD reused;		/* a slot emptied while a rank may ask for its result */
WORD split;		/* an operation has failed here and succeeded there */
WORD stuck;		/* nothing can happen, and some rank lacks results and the error */

byte snd[N];			/* first block not yet contributed */
byte got[N];			/* set of blocks whose results are here */
byte up[CHILDREN];		/* set of contributions in the network, by sender */
byte down[CHILDREN];		/* set of results in the network, by receiver */
byte q[NODES * S];
byte have[NODES * S];
byte state[NODES * S];
byte una[NODES];		/* first block that is not DONE */
byte top;			/* highest snd */
byte losses;
byte error;			/* block of the error + 1 */
byte errors;			/* set of children to which an ERROR is in the network */
byte failing;			/* set of children that know the error */
byte failed;			/* set of ranks that have failed the operations from there on */
#ifdef HOLD
byte held;
#endif
#ifdef NO_RULE_2_ONCE
byte count[NODES * S];
#define FULL(n, i)	(count[i] == COUNT(ALL(n)))
#define NEW(i, c)	true
#else
#define FULL(n, i)	(have[i] == ALL(n))
#define NEW(i, c)	(!(have[i] & BIT(c)))
#endif

/* Rule 1 */
#ifdef NO_RULE_1
#define IN_WINDOW(r, b)	((b) - COUNT(got[r]) < W)
#else
#define IN_WINDOW(r, b)	((b) < FIRST(got[r]) + W)
#endif
#ifdef NO_RULE_9
#define CREDIT_END(r)	(FIRST(got[r]) + W + 1 < B -> FIRST(got[r]) + W + 1 : B)
#else
#define CREDIT_END(r)	(FIRST(got[r]) + W < B -> FIRST(got[r]) + W : B)
#endif

#define FAILING(r)	(failing & BIT(r))
#define BEFORE_ERROR(b)	(!error || (b) + 1 < error)
#define KNOWS_ERROR(n)	(error && ((n) == 0 || FAILING(LEAF)))

/* Rule 2: the slot's own block, or exactly the next one if the slot is done. */
#ifdef NO_RULE_2_EQUAL
#define OTHER_BLOCK(n, x)	(q[SLOT(n, x)] != (x))
#else
#define OTHER_BLOCK(n, x)	(q[SLOT(n, x)] + S == (x) && state[SLOT(n, x)] == DONE)
#endif
#define TAKES(n, c, x)		((x) >= 0 && \
				((q[SLOT(n, x)] == (x) && state[SLOT(n, x)] == FILLING && NEW(SLOT(n, x), c)) || \
				OTHER_BLOCK(n, x)))

/* Rule 13: nothing is refused to the oldest block; others must find room, or younger ones to be dropped. */
#ifdef HOLD
#define YOUNGER(x, i)		(q[i] > (x) && state[i] == FILLING && have[i])
#ifdef NO_RULE_13
#define ROOM(n, x)		(held < HOLD)
#else
#define ROOM(n, x)		(held < HOLD || (x) == una[n] || \
				YOUNGER(x, 0) || YOUNGER(x, 1) || (S > 2 && (YOUNGER(x, 2) || YOUNGER(x, 3))))
#endif
#else
#define ROOM(n, x)		true
#endif

inline wipe(i)
{
	have[i] = 0;
	state[i] = FILLING;
#ifdef NO_RULE_2_ONCE
	count[i] = 0;
#endif
}

#ifdef HOLD
inline evict(x)
{
	j = S - 1;
	k = S;
	do
	:: YOUNGER(x, j) && (k == S || q[j] > q[k]) -> k = j
	:: !(YOUNGER(x, j) && (k == S || q[j] > q[k])) && j == 0 -> break
	:: !(YOUNGER(x, j) && (k == S || q[j] > q[k])) && j > 0 -> j--
	od;
	if
	:: k < S ->
		held = held - COUNT(have[k]);
		have[k] = 0
	:: else
	fi
}
#endif

/* A block is complete: it goes up, or down to all. */
inline done(n, i)
{
	state[i] = DONE;
	if
	:: n == 0 ->
#ifdef TWO_LEVELS
		down[0] = down[0] | BIT(q[i]);
		down[LEAF] = down[LEAF] | BIT(q[i])
#else
		j = 0;
		do
		:: j < N -> down[j] = down[j] | BIT(q[i]); j++
		:: j == N -> break
		od
#endif
	:: else ->
		down[1] = down[1] | BIT(q[i]);
		down[2] = down[2] | BIT(q[i])
	fi;
	do
	:: una[n] < B && q[SLOT(n, una[n])] == una[n] && state[SLOT(n, una[n])] == DONE -> una[n]++
	:: !(una[n] < B && q[SLOT(n, una[n])] == una[n] && state[SLOT(n, una[n])] == DONE) -> break
	od
}

inline take(n, c, b)
{
	i = EXTEND(una[n], b);
	assert(i == b || misread);
#ifdef HOLD
	if
	:: held >= HOLD -> evict(b)
	:: else
	fi;
	held++;
#endif
	i = SLOT(n, b);
	if
	:: q[i] != b ->
		j = 0;
		do
		:: j < N -> assert((got[j] & BIT(q[i])) || reused); j++
		:: j == N -> break
		od;
		wipe(i);
		q[i] = b
	:: else
	fi;
	have[i] = have[i] | BIT(c);
	printf("node %d has block %d of child %d\n", n, b, c);
#ifdef NO_RULE_2_ONCE
	count[i]++;
#endif
	if
	:: FULL(n, i) ->
		assert(have[i] == ALL(n) || miscounted);
#ifdef HOLD
		held = held - COUNT(have[i]);
#endif
		if
		:: n == 0 -> done(n, i)
		:: else -> state[i] = UP; up[LEAF] = up[LEAF] | BIT(b)
		fi
	:: else
	fi;
	i = 0; j = 0; k = 0
}

inline deliver(r, b)
{
	i = EXTEND(FIRST(got[r]), b);
	assert(i == b || misread);
	got[r] = got[r] | BIT(b);
	printf("rank %d gets the result of block %d\n", r, b);
	j = 0;
	do
	:: j < N -> assert(b < W || (got[j] & BELOW(b - W + 1)) == BELOW(b - W + 1) || rule_3); j++
	:: j == N -> break
	od;
	i = 0; j = 0
}

#define BLOCKS(X)	X(0) X(1) X(2) X(3) X(4) X(5) X(6)

#define OUT(r, b)	((b) < B && (b) < snd[r] && !(got[r] & BIT(b)))

#ifdef CREDIT
#define BY_BLOCK(r)	(r != N - 1)
#else
#define BY_BLOCK(r)	true
#endif

#define SEND(b) \
	:: d_step { (b) < B && BY_BLOCK(r) && snd[r] == (b) && IN_WINDOW(r, b) && !FAILING(r) -> \
		snd[r]++; up[r] = up[r] | BIT(b); \
		printf("rank %d sends block %d\n", r, b); \
		if :: snd[r] > top -> top = snd[r] :: else fi }

#ifdef NO_RULE_4_CONTRIBUTION
#define SEND_AGAIN(b)
#else
#define SEND_AGAIN(b) \
	:: d_step { OUT(r, b) && !(up[r] & BIT(b)) -> \
		up[r] = up[r] | BIT(b); \
		printf("rank %d sends block %d again\n", r, b) }
#endif

#define RESULT(b) \
	:: d_step { (b) < B && (down[r] & BIT(b)) && ALIVE(b) && !(got[r] & BIT(b)) && \
		    !(FAILING(r) && !BEFORE_ERROR(b)) -> \
		deliver(r, b) }

/* PROBE, or a contribution sent again: the node answers with the result, or asks above. */
#ifdef NO_RULE_4_RESULT
#define ASK(b)
#else
#define ASK(b) \
	:: d_step { OUT(r, b) && !(down[r] & BIT(b)) && q[SLOT(PARENT(r), b)] == (b) && \
		    state[SLOT(PARENT(r), b)] == DONE -> \
		down[r] = down[r] | BIT(b); \
		printf("rank %d asks for block %d\n", r, b) }
#endif
#if defined(TWO_LEVELS) && !defined(NO_RULE_4_UPWARD)
#define ASK_ABOVE(b) \
	:: d_step { OUT(r, b) && PARENT(r) && q[SLOT(1, b)] == (b) && state[SLOT(1, b)] == UP && \
		    !(up[LEAF] & BIT(b)) -> \
		up[LEAF] = up[LEAF] | BIT(b) } \
	:: d_step { OUT(r, b) && PARENT(r) && q[SLOT(1, b)] == (b) && state[SLOT(1, b)] == UP && \
		    !(down[LEAF] & BIT(b)) && q[SLOT(0, b)] == (b) && state[SLOT(0, b)] == DONE -> \
		down[LEAF] = down[LEAF] | BIT(b) }
#else
#define ASK_ABOVE(b)
#endif

/* Operations, one block each here, complete in order: those below the first missing result have succeeded. */
#ifdef NO_RULE_10_IN_ORDER
#define SUCCEEDED(r)	got[r]
#else
#define SUCCEEDED(r)	BELOW(FIRST(got[r]))
#endif
#ifdef NO_RULE_10_BEFORE
#define MAY_FAIL(r)	true
#else
#define MAY_FAIL(r)	(FIRST(got[r]) + 1 >= error)
#endif

proctype rank(byte r)
{
	byte i, j;
end:
	do
	BLOCKS(SEND)
	BLOCKS(SEND_AGAIN)
	BLOCKS(RESULT)
	BLOCKS(ASK)
	BLOCKS(ASK_ABOVE)
#ifdef CREDIT
	:: d_step { !BY_BLOCK(r) && CREDIT_END(r) > snd[r] ->
		up[r] = up[r] | (BELOW(CREDIT_END(r)) & ~BELOW(snd[r]));
		snd[r] = CREDIT_END(r);
		printf("rank %d sends credit up to block %d\n", r, snd[r] - 1);
		if :: snd[r] > top -> top = snd[r] :: else fi }
#endif
#ifdef ERROR
	:: d_step { (errors & BIT(r)) && !FAILING(r) ->
		printf("rank %d hears of the error\n", r);
		failing = failing | BIT(r) }
	:: d_step { FAILING(r) && !(failed & BIT(r)) && MAY_FAIL(r) ->
		failed = failed | BIT(r);
		printf("rank %d fails its operations\n", r);
		assert(SUCCEEDED(r) == BELOW(error - 1) || split) }
#ifndef NO_RULE_10_STICKY
	:: d_step { KNOWS_ERROR(PARENT(r)) && !FAILING(r) && !(errors & BIT(r)) -> errors = errors | BIT(r) }
#endif
#endif
	od
}

#define TAKE(n, c, b) \
	:: d_step { (b) < B && (c) < CHILDREN && PARENT(c) == (n) && (up[c] & BIT(b)) && ALIVE(b) && \
		    !REFUSED(b) && TAKES(n, c, EXTEND(una[n], b)) && ROOM(n, b) -> \
		take(n, c, b) }
#define TAKE_0(b)	TAKE(n, 0, b)
#define TAKE_1(b)	TAKE(n, 1, b)
#define TAKE_2(b)	TAKE(n, 2, b)
#define TAKE_3(b)	TAKE(n, 3, b)

#ifdef NO_RULE_10_LOWEST
/* the error is that of the youngest block, and stops all */
#define REFUSED(b)	KNOWS_ERROR(n)
#define ERROR_AT	(top)
#else
#define REFUSED(b)	(KNOWS_ERROR(n) && !BEFORE_ERROR(b))
#define ERROR_AT	(una[0] + 1)
#endif

/* A leaf that has heard of the error still gets the results before it. */
#ifdef NO_RULE_10_DOWN
#define TAKES_RESULTS(n) !KNOWS_ERROR(n)
#else
#define TAKES_RESULTS(n) true
#endif

#define RESULT_ABOVE(b) \
	:: d_step { (b) < B && n == 1 && (down[LEAF] & BIT(b)) && ALIVE(b) && q[SLOT(1, b)] == (b) && \
		    state[SLOT(1, b)] == UP && TAKES_RESULTS(n) -> \
		i = SLOT(1, b); done(n, i); i = 0; j = 0 }

proctype node(byte n)
{
	byte i, j, k;
end:
	do
	BLOCKS(TAKE_0)
	BLOCKS(TAKE_1)
#if N > 2
	BLOCKS(TAKE_2)
#endif
#ifdef TWO_LEVELS
	BLOCKS(TAKE_3)
	BLOCKS(RESULT_ABOVE)
#endif
#ifdef ERROR
	:: d_step { n == 0 && !error && una[0] < B && top ->
		error = ERROR_AT;
		printf("the root raises an error at block %d\n", error - 1);
		errors = ALL(0) }
	:: d_step { n == 1 && (errors & BIT(LEAF)) && !FAILING(LEAF) ->
		printf("the leaf hears of the error\n");
		failing = failing | BIT(LEAF);
		errors = errors | ALL(1) }
#ifndef NO_RULE_10_STICKY
	:: d_step { n == 1 && error && !FAILING(LEAF) && !(errors & BIT(LEAF)) -> errors = errors | BIT(LEAF) }
#endif
#endif
	od
}

#define LOSE_UP(b) \
	:: d_step { losses < LOSSES && (b) < B && (up[c] & BIT(b)) -> losses++; up[c] = up[c] & ~BIT(b); \
		printf("block %d of child %d is lost\n", b, c) }
#define LOSE_DOWN(b) \
	:: d_step { losses < LOSSES && (b) < B && (down[c] & BIT(b)) -> losses++; down[c] = down[c] & ~BIT(b); \
		printf("the result of block %d for child %d is lost\n", b, c) }

proctype network(byte c)
{
end:
	do
	BLOCKS(LOSE_UP)
	BLOCKS(LOSE_DOWN)
	:: d_step { losses < LOSSES && (errors & BIT(c)) && !FAILING(c) ->
		losses++;
		errors = errors & ~BIT(c);
		printf("ERROR for child %d is lost\n", c) }
	od
}

#define ENDED(r)	(got[r] == BELOW(B) || (failed & BIT(r)))

init
{
	byte i;

	d_step {
		i = 0;
		do
		:: i < NODES * S -> q[i] = i % S; i++
		:: else -> break
		od;
		i = 0
	}
	atomic {
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
		i = 0;
		do
		:: i < CHILDREN -> run network(i); i++
		:: else -> break
		od;
		i = 0
	}
	timeout -> assert((ENDED(0) && ENDED(1) && ENDED(N - 1)) || stuck)
}
