/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group over a tree of nodes, and its moves: a leaf, the root or a place that the ranks move to dies or is taken for
 * dead, who hears of that and how, what ranks contribute again, the way back to the tree, LEAVE. "Trees of nodes" of
 * protocol.rst and, for trees, its rules 1 to 3, 5 to 8 and 11. README.rst says what is modelled; `run` has the
 * instances and the mutations.
 *
 *	W blocks of window, B blocks in all (the last one is LEAVE), FAILURES
 *	TWO_LEAVES	rank 2 is below a leaf of its own; else it is a child of the root
 *	BACK		the group begins at a single node, and rank 0 calls it back to the tree
 *	NO_RULE_x	leaves a rule out
 *
 * Ranks 0 and 1 are below leaf Y. Move 0 is to the tree, the next ones are to a single node each; with BACK the group
 * begins at move 1, move 2 is to the tree and move 3 to the single node again.
 *
 * The network is the set of the packets that were ever sent: each can come again at any time, in any order, or never.
 * A step that would change nothing is not taken, so that the end of all steps is the end of the run.
 *
 * Of a result the model keeps its origin: the move at which it was folded, + 1.
 */
#define N	3
#ifndef W
#define W	1
#endif
#ifndef B
#define B	3
#endif
#ifndef FAILURES
#define FAILURES 1
#endif
#define S	(2 * W)

#define BIT(i)		(1 << (i))
#define BELOW(b)	(BIT(b) - 1)
#define ALL		BELOW(N)
#define FIRST(set)	(!((set) & 1) -> 0 : (!((set) & 2) -> 1 : (!((set) & 4) -> 2 : (!((set) & 8) -> 3 : \
			(!((set) & 16) -> 4 : (!((set) & 32) -> 5 : 6))))))
#define LEAVE		(B - 1)

#ifdef BACK
#define TREE		2
#define FROM		1
#define LAST		(2 + FAILURES)
#define NEXT_MOVE(m)	((m) == 1 -> 3 : (m) + 1)
#else
#define TREE		0
#define FROM		0
#ifdef NO_RULE_11_FORGET
#define LAST		(FAILURES + 1)
#else
#define LAST		FAILURES
#endif
#define NEXT_MOVE(m)	((m) + 1)
#endif
#define MOVES		(LAST + 1)

/* The tree. Children of a node are ranks, and leaves: bits N + 1, N + 2. */
#define ROOT	0
#define Y	1
#define X	2
#ifdef TWO_LEAVES
#define NODES		3
#define PARENT(r)	((r) < 2 -> Y : X)
#define ALL_OF(n)	((n) == ROOT -> BIT(N + Y) | BIT(N + X) : ((n) == Y -> 3 : 4))
#define RANKS_OF(n)	((n) == Y -> 3 : 4)
#else
#define NODES		2
#define PARENT(r)	((r) < 2 -> Y : ROOT)
#define ALL_OF(n)	((n) == ROOT -> BIT(N + Y) | 4 : 3)
#define RANKS_OF(n)	((n) == Y -> 3 : 4)
#endif
#define IS(set, n)	((set) & BIT(n))

#define JOINING	0
#define IN	1
#define GONE	2

#define FILLING	0
#define UP	1
#define DONE	2

/* A word at the end of every assertion says what has failed: never true, no part of the state. */
#ifdef TRAIL
#define WORD	byte
#else
#define WORD	hidden byte
#endif
WORD miscounted;		/* a block is complete without somebody's contribution */
WORD differs;		/* results of a block that do not have the same bits */
WORD rule_3;		/* a rank has the result p + W, another one lacks one <= p */
WORD not_kept;		/* a rank has nothing to contribute any more */
WORD reused;		/* a slot emptied while a rank may ask for its result */
WORD stuck;		/* nothing can happen, and some rank lacks results, or waits though nothing has failed */

/* ranks */
byte state[N] = IN;
byte at[N] = FROM;		/* the move */
byte got[N];			/* set of blocks whose results are here, of any epoch */
byte egot[N];			/* and of this one */
byte origin[B];			/* of the result that ranks have */
byte calls[N];			/* set of moves that MOVE has called it to */
byte knows;			/* set of ranks that have the addresses of all, not of rank 0 only */
#ifdef BACK
byte recall[N];			/* block at which the group returns, + 1 */
byte back;			/* the same, as MOVE says it */
byte sent;			/* first block that rank 0 has never contributed */
#ifdef NO_RULE_6_BACK_STOP
#define STOPS(r, b)	(r != 0 && recall[r] && (b) + 1 >= recall[r])
#else
#define STOPS(r, b)	(recall[r] && (b) + 1 >= recall[r])
#endif
#define FORGET_RETURN	asked = 0; released = 0
#define NOTE_SENT(r, b)	sent = (r == 0 && (b) >= sent -> (b) + 1 : sent)
#else
#define STOPS(r, b)	false
#define FORGET_RETURN	skip
#define NOTE_SENT(r, b)	skip
#endif

/* the network: what has been sent */
#define CON(m, r, b)	con[((m) * N + (r)) * B + (b)]
#define RES(m, b)	res[(m) * B + (b)]
byte con[MOVES * N * B];	/* 0; the move + 1: an ordinary contribution; with FINAL the origin of the result */
byte res[MOVES * B];		/* of single nodes: 0, or the result's origin */
byte join[MOVES * N];		/* 0, or `next` + 1 */

/* single nodes, one for each move */
byte ready[MOVES];		/* 0, or `start` + 1; of the tree: the root's */
byte word[MOVES];		/* set of later moves that it has been told of */
byte q[MOVES * S];
byte have[MOVES * S];
byte fin[MOVES * S];		/* 0, or the origin of what was FINAL */
byte done[MOVES * S];
byte dead;			/* set of moves */

/* nodes of the tree */
byte tq[NODES * S];
byte thave[NODES * S];
byte tstate[NODES * S];
byte up[NODES];			/* set of blocks that it has contributed */
byte down[NODES];		/* set of blocks whose results it has sent */
byte begun;			/* sets of nodes: it has READY */
#ifdef BACK
byte asked;			/* a leaf has JOINed for all ranks below it */
byte released;			/* set of ranks that have gone before READY has come */
#endif
byte tdead;
byte gone;			/* it has heard, or its parent has, that a rank goes elsewhere */
byte over;			/* it has ended the group, and tells its children */
byte failures;

#define SLOT(m, b)	((m) * S + (b) % S)
#define NEXT(r)		FIRST(got[r])
#define AT_TREE(r)	(at[r] == TREE)
#define START(r)	(ready[at[r]] - 1)
#define WINDOW_FROM(r)	FIRST(egot[r] | BELOW(START(r)))
#define KEPT(r, b)	((b) + W >= NEXT(r))

/* Is anybody at this move, or yet to come? */
#define NEEDS(r, m)	(state[r] != GONE && at[r] <= (m))
#define NEEDED(m)	(NEEDS(0, m) || NEEDS(1, m) || NEEDS(2, m))

/* LEAVE has been contributed by all. What is left of the node is forgotten when all below it have gone. */
#define LEFT(n)		(tq[SLOT(n, LEAVE)] == LEAVE && tstate[SLOT(n, LEAVE)] == DONE)
#ifdef NO_RULE_11_FORGET
#define FORGOTTEN(n)	LEFT(n)
#else
#define FORGOTTEN(n)	false
#endif

/* Rule 5, and ERROR: what a rank loses its place by. Nobody waits for ever for READY. */
#ifdef NO_RULE_6_UP
#define TOLD_HERE(r)	(PARENT(r) != ROOT && IS(gone & ~tdead, PARENT(r)))
#else
#define TOLD_HERE(r)	false
#endif
#define TREE_LOST(r)	(IS(tdead | over, PARENT(r)) || TOLD_HERE(r) || FORGOTTEN(PARENT(r)) || \
			(state[r] == JOINING && (tdead || IS(over, ROOT))))
#define LOST(r)		(AT_TREE(r) -> TREE_LOST(r) : (IS(dead, at[r]) || (state[r] == IN && word[at[r]])))

inline deliver(r, b, from)
{
	printf("rank %d gets the result of block %d at move %d, from %d\n", r, b, at[r], (from) - 1);
	egot[r] = egot[r] | BIT(b);
	if
	:: (b) < LEAVE && !origin[b] -> origin[b] = from
	:: else
	fi;
	assert((b) == LEAVE || origin[b] == (from) || differs);
	got[r] = got[r] | BIT(b);
	i = 0;
	do
	:: i < N -> assert((b) < W || (got[i] & BELOW((b) - W + 1)) == BELOW((b) - W + 1) || rule_3); i++
	:: i == N -> break
	od;
	i = 0
}

inline wipe(s, b)
{
	q[s] = b;
	have[s] = 0;
	fin[s] = 0;
	done[s] = 0
}

/* Forget what was sent at a move where nobody is and to which nobody comes. */
inline forget()
{
	i = 0;
	do
	:: i < MOVES && !NEEDED(i) ->
		j = 0;
		do
		:: j < N * B -> con[i * N * B + j] = 0; j++
		:: else -> break
		od;
		j = 0;
		do
		:: j < B -> RES(i, j) = 0; j++
		:: else -> break
		od;
		j = 0;
		do
		:: j < N -> join[i * N + j] = 0; calls[j] = calls[j] & ~BIT(i); j++
		:: else -> break
		od;
		j = 0;
		do
		:: j < S -> wipe(i * S + j, 0); j++
		:: else -> break
		od;
		ready[i] = 0;
		word[i] = 0;
		dead = dead & ~BIT(i);
		if
		:: i == TREE ->
			j = 0;
			do
			:: j < NODES * S -> tq[j] = 0; thave[j] = 0; tstate[j] = 0; j++
			:: else -> break
			od;
			j = 0;
			do
			:: j < NODES -> up[j] = 0; down[j] = 0; j++
			:: else -> break
			od;
			begun = 0; tdead = 0; gone = 0; over = 0;
			FORGET_RETURN
		:: else
		fi;
		i++
	:: i < MOVES && NEEDED(i) -> break
	:: i == MOVES -> break
	od;
	i = 0; j = 0
}

#define CALL(r, m)	calls[r] = (state[r] == GONE || at[r] >= (m) -> calls[r] : calls[r] | BIT(m))

#ifdef NO_RULE_6_CALL
#define CALLS_0(r)	IS(knows, r)
#else
#define CALLS_0(r)	true
#endif

/* Rule 6, "Moves from a tree": whom a rank tells that moves, and that begins the move. */
inline move(r, m, mover)
{
	k = at[r];
#ifndef NO_RULE_6_GONE
	if
	:: k == TREE && state[r] == IN -> gone = gone | BIT(PARENT(r))
	:: else
	fi;
#endif
#ifndef NO_RULE_6_WORD
	if
	:: k != TREE && state[r] == JOINING && !IS(dead, k) -> word[k] = word[k] | BIT(m)
	:: else
	fi;
#endif
	at[r] = m;		/* inlines are text: m may have been a word about at[r] */
	k = 0;
	state[r] = JOINING;
	egot[r] = 0;
#ifdef BACK
	recall[r] = 0;
#endif
	printf("rank %d joins at move %d, next %d\n", r, at[r], NEXT(r));
	join[at[r] * N + r] = NEXT(r) + 1;
	if
	:: mover ->
		if
		:: CALLS_0(r) -> CALL(0, at[r])
		:: else
		fi;
		if
		:: IS(knows, r) -> CALL(1, at[r]); CALL(2, at[r])
		:: else
		fi
	:: else
	fi;
	calls[r] = calls[r] & ~BELOW(at[r] + 1);
	forget()
}

#define BLOCKS(X)	X(0) X(1) X(2) X(3)

/* Rules 7 and 11: every block from `start` on, once; LEAVE when all results are here. No FINAL in trees. */
#define SEND(b) \
	:: d_step { (b) < B && state[r] == IN && (b) >= START(r) && !CON(at[r], r, b) && \
		    ((b) == START(r) || CON(at[r], r, (b) - 1)) && (b) < WINDOW_FROM(r) + W && \
		    ((b) < LEAVE || NEXT(r) >= LEAVE) && !STOPS(r, b) -> \
		if \
		:: !(got[r] & BIT(b)) || AT_TREE(r) || (b) == LEAVE -> CON(at[r], r, b) = at[r] + 1 \
		:: else -> \
			assert(KEPT(r, b) || not_kept); \
			CON(at[r], r, b) = origin[b] \
		fi; \
		NOTE_SENT(r, b); \
		printf("rank %d sends block %d at move %d: %d\n", r, b, at[r], CON(at[r], r, b) - 1) }

#define RESULT(b) \
	:: d_step { (b) < B && state[r] == IN && !(egot[r] & BIT(b)) && CON(at[r], r, b) && \
		    (AT_TREE(r) -> down[PARENT(r)] & BIT(b) : RES(at[r], b)) -> \
		k = (AT_TREE(r) -> TREE + 1 : RES(at[r], b)); \
		deliver(r, b, k); k = 0 }

/* MOVE has come; or a node says that the group is at a later move. */
#ifdef BACK
#define IS_CALL(m)	((m) != TREE)
#else
#define IS_CALL(m)	true
#endif
#define HEAR(m) \
	:: d_step { (m) < MOVES && IS_CALL(m) && at[r] < (m) && state[r] != GONE && \
		    (IS(calls[r], m) || (state[r] == JOINING && !AT_TREE(r) && !IS(dead, at[r]) && \
		     IS(word[at[r]], m))) -> \
		printf("rank %d is called\n", r); \
		move(r, m, false) }

/* Rule 11. A leaf knows of its own ranks only, so that in trees nothing but LEAVE of all lets a rank go. */
#define HAS_ALL(r, i)	((i) == (r) || \
			 (state[i] == IN && at[i] == at[r] && FIRST(egot[i] | BELOW(START(r))) >= LEAVE) || \
			 (state[i] != GONE && at[i] > at[r] && NEXT(i) >= LEAVE))
#define SAID(r, i)	(HAS_ALL(r, i) || CON(at[r], i, LEAVE))
#ifdef NO_RULE_11_WAIT
#define ALL_HAVE(r)	true
#else
#define ALL_HAVE(r)	(SAID(r, 0) && SAID(r, 1) && SAID(r, 2))
#endif
#define FLAT_WAIT(r)	(!AT_TREE(r) && !IS(dead, at[r]) && !word[at[r]] && \
			q[SLOT(at[r], LEAVE)] == LEAVE && IS(have[SLOT(at[r], LEAVE)], r) && ALL_HAVE(r))
#ifdef NO_RULE_11_LEVELS
#define LEAF_HAS_ALL(r)	(((down[Y] | BELOW(START(r))) & BELOW(LEAVE)) == BELOW(LEAVE))
#define TREE_WAIT(r)	(AT_TREE(r) && tq[SLOT(PARENT(r), LEAVE)] == LEAVE && \
			IS(thave[SLOT(PARENT(r), LEAVE)], r) && \
			(PARENT(r) == Y -> SAID(r, 0) && SAID(r, 1) : PARENT(r) == X || LEAF_HAS_ALL(r)))
#else
#define TREE_WAIT(r)	false
#endif
#define MAY_GO(r)	((egot[r] & BIT(LEAVE)) || FLAT_WAIT(r) || TREE_WAIT(r))

#ifdef BACK
/*
 * "Back to the tree". Rank 0 has been called by the nodes, and says where the group returns: at the first block that it
 * has never contributed.
 */
#ifdef NO_RULE_6_BACK_BLOCK
#define BACK_AT		NEXT(0)
#else
#define BACK_AT		sent
#endif
#ifdef NO_RULE_6_BACK_EPOCH
#define HAS(r)		NEXT(r)
#else
#define HAS(r)		(r == 0 -> WINDOW_FROM(r) : NEXT(r))
#endif
#ifdef NO_RULE_6_BACK_ALL
#define MAY_RETURN(r)	(r != 0 || HAS(r) + 1 >= recall[r])
#else
#define MAY_RETURN(r)	(HAS(r) + 1 >= recall[r])
#endif
#define RETURN_STEPS(r) \
	:: d_step { r == 0 && state[r] == IN && at[r] == FROM && !recall[r] && sent <= LEAVE && \
		    state[1] == IN && at[1] == FROM && !CON(FROM, 1, LEAVE) && \
		    state[2] == IN && at[2] == FROM && !CON(FROM, 2, LEAVE) -> \
		recall[r] = BACK_AT + 1; \
		printf("rank 0 chooses block %d\n", recall[r] - 1) } \
	:: d_step { r != 0 && state[r] != GONE && at[r] < TREE && IS(calls[r], TREE) && NEXT(r) + 1 == back -> \
		move(r, TREE, false) } \
	:: d_step { r != 0 && state[r] == IN && at[r] < TREE && IS(calls[r], TREE) && NEXT(r) + 1 < back && \
		    !recall[r] && (back - 1 == START(r) || CON(FROM, r, back - 2)) -> \
		recall[r] = back } \
	:: d_step { state[r] == IN && at[r] == FROM && recall[r] && MAY_RETURN(r) -> \
		if \
		:: r == 0 -> back = recall[r] \
		:: else \
		fi; \
		move(r, TREE, r == 0) }
#else
#define RETURN_STEPS(r)
#endif

proctype rank(byte r)
{
	byte i, j, k;
end:
	do
	BLOCKS(SEND)
	BLOCKS(RESULT)
	HEAR(1)
	HEAR(2)
	HEAR(3)
	HEAR(4)
	RETURN_STEPS(r)
	:: d_step { state[r] == JOINING && ready[at[r]] && (AT_TREE(r) -> IS(begun, PARENT(r)) : true) ->
		printf("rank %d is READY at move %d from block %d on\n", r, at[r], START(r));
		if
		:: !AT_TREE(r) -> knows = knows | BIT(r)
		:: else
		fi;
		state[r] = IN }
	:: d_step { state[r] != GONE && LOST(r) && NEXT_MOVE(at[r]) < MOVES ->
		printf("rank %d has lost its node\n", r);
		move(r, NEXT_MOVE(at[r]), true) }
	/* taken for dead: nothing of it has come for long */
	:: d_step { state[r] != GONE && failures < FAILURES && !LOST(r) && NEXT_MOVE(at[r]) < MOVES ->
		failures++;
		printf("rank %d takes its node for dead\n", r);
		move(r, NEXT_MOVE(at[r]), true) }
	:: d_step { state[r] == IN && MAY_GO(r) ->
		printf("rank %d is gone\n", r);
		state[r] = GONE;
		calls[r] = 0;
		at[r] = 0; egot[r] = 0;
		forget() }
	od
}

inline check_reused(b)
{
	j = 0;
	do
	:: j < N -> assert((got[j] & BIT(b)) || reused); j++
	:: j == N -> break
	od;
	j = 0
}

/* All JOINs are in: begin at the lowest `next`. */
inline lowest_next(m)
{
	j = join[(m) * N];
	if
	:: join[(m) * N + 1] < j -> j = join[(m) * N + 1]
	:: else
	fi;
	if
	:: join[(m) * N + 2] < j -> j = join[(m) * N + 2]
	:: else
	fi;
	ready[m] = j;
	j--;
	printf("move %d: the epoch begins at block %d\n", m, j)
}

#define SERVES(m)	(ready[m] && !IS(dead, m) && !word[m] && NEEDED(m))
#define TAKES(m, r, b)	((q[SLOT(m, b)] == (b) && !done[SLOT(m, b)] && !IS(have[SLOT(m, b)], r)) || \
			(q[SLOT(m, b)] + S == (b) && done[SLOT(m, b)]))
#define TAKE(r, b) \
	:: d_step { (b) < B && SERVES(m) && CON(m, r, b) && TAKES(m, r, b) -> \
		i = SLOT(m, b); \
		if \
		:: q[i] != (b) -> check_reused(q[i]); wipe(i, b) \
		:: else \
		fi; \
		have[i] = have[i] | BIT(r); \
		if \
		:: CON(m, r, b) != m + 1 -> fin[i] = CON(m, r, b) \
		:: else \
		fi; \
		printf("move %d: the node has block %d of rank %d\n", m, b, r); \
		if \
		:: have[i] == ALL -> \
			done[i] = 1; \
			RES(m, b) = (fin[i] -> fin[i] : m + 1) \
		:: else \
		fi; \
		i = 0 }
#define TAKE_0(b)	TAKE(0, b)
#define TAKE_1(b)	TAKE(1, b)
#define TAKE_2(b)	TAKE(2, b)

/* A single node. */
proctype node(byte m)
{
	byte i, j;
end:
	do
	BLOCKS(TAKE_0)
	BLOCKS(TAKE_1)
	BLOCKS(TAKE_2)
	:: d_step { !ready[m] && !IS(dead, m) && !word[m] && join[m * N] && join[m * N + 1] && join[m * N + 2] ->
		lowest_next(m);
		i = 0;
		do
		:: i < S -> wipe(SLOT(m, j + i), j + i); i++
		:: i == S -> break
		od;
		i = 0; j = 0 }
	:: d_step { failures < FAILURES && !IS(dead, m) && (at[0] == m || at[1] == m || at[2] == m) && NEEDED(m) ->
		failures++;
		dead = dead | BIT(m);
		printf("move %d: the node dies\n", m) }
	od
}

#define TSERVES(n)	(IS(begun, n) && !IS(tdead | over, n) && NEEDED(TREE))
#define TTAKES(n, c, b)	((tq[SLOT(n, b)] == (b) && tstate[SLOT(n, b)] == FILLING && \
			 !IS(thave[SLOT(n, b)], c)) || \
			(tq[SLOT(n, b)] + S == (b) && tstate[SLOT(n, b)] == DONE))
#define SENT(c, b)	((c) < N -> CON(TREE, c, b) : up[(c) - N] & BIT(b))
#ifdef NO_RULE_3_UPWARD
#define TFULL(n, i)	(thave[i] == ALL_OF(n) || (n) != ROOT)
#else
#if defined(BACK) && defined(NO_RULE_6_CHILDREN)
#define TFULL(n, i)	((thave[i] | released) == (ALL_OF(n) | released))
#else
#define TFULL(n, i)	(thave[i] == ALL_OF(n))
#endif
#endif
#define TTAKE(c, b) \
	:: d_step { (b) < B && IS(ALL_OF(n), c) && TSERVES(n) && SENT(c, b) && TTAKES(n, c, b) -> \
		i = SLOT(n, b); \
		if \
		:: tq[i] != (b) -> check_reused(tq[i]); tq[i] = b; thave[i] = 0; tstate[i] = FILLING \
		:: else \
		fi; \
		thave[i] = thave[i] | BIT(c); \
		printf("node %d of the tree has block %d of %d\n", n, b, c); \
		if \
		:: TFULL(n, i) && n == ROOT -> \
			assert((CON(TREE, 0, b) && CON(TREE, 1, b) && CON(TREE, 2, b)) || miscounted); \
			tstate[i] = DONE; \
			down[ROOT] = down[ROOT] | BIT(b) \
		:: TFULL(n, i) && n != ROOT -> \
			tstate[i] = UP; \
			up[n] = up[n] | BIT(b) \
		:: else \
		fi; \
		i = 0 }
#define TTAKE_0(b)	TTAKE(0, b)
#define TTAKE_1(b)	TTAKE(1, b)
#define TTAKE_2(b)	TTAKE(2, b)
#define TTAKE_Y(b)	TTAKE(N + Y, b)
#define TTAKE_X(b)	TTAKE(N + X, b)
#define TRESULT(b) \
	:: d_step { (b) < B && n != ROOT && IS(begun, n) && !IS(tdead, n) && NEEDED(TREE) && \
		    tq[SLOT(n, b)] == (b) && tstate[SLOT(n, b)] == UP && (down[ROOT] & BIT(b)) -> \
		tstate[SLOT(n, b)] = DONE; \
		down[n] = down[n] | BIT(b); \
		printf("node %d of the tree has the result of block %d\n", n, b) }

/* Nodes find one another dead, and say so: the root to all, a leaf that has heard it of a rank to the root. */
#ifdef NO_RULE_5_PARENT
#define PARENT_LOST	false
#else
#define PARENT_LOST	(IS(tdead, ROOT) || FORGOTTEN(ROOT))
#endif
#ifdef NO_RULE_5_CHILD
#define CHILD_LOST	false
#else
#define CHILD_LOST	((tdead | over) & ~BIT(ROOT))
#endif
#ifdef NO_RULE_6_DOWN
#define ERROR_DOWN	false
#else
#define ERROR_DOWN	IS(over, ROOT)
#endif

#ifdef NO_RULE_6_BACK_ALL
#define SAME_NEXT	true
#else
#define SAME_NEXT	(join[TREE * N] == join[TREE * N + 1] && join[TREE * N] == join[TREE * N + 2])
#endif

#ifdef BACK
#ifdef TWO_LEAVES
#define HAS_JOINED_2	IS(asked, X)
#else
#define HAS_JOINED_2	join[TREE * N + 2]
#endif
/* A rank that is silent while the group forms is let go. */
#define RELEASE(r) \
	:: d_step { n != ROOT && (RANKS_OF(n) & BIT(r)) && !IS(begun | tdead, n) && !IS(released, r) && \
		    NEEDED(TREE) && join[TREE * N + r] && (state[r] == GONE || at[r] > TREE) -> \
		printf("node %d of the tree hears no more of rank %d\n", n, r); \
		released = released | BIT(r) }
inline tree_slots(n, first)
{
	i = 0;
	do
	:: i < S -> tq[SLOT(n, (first) + i)] = (first) + i; i++
	:: i == S -> break
	od;
	i = 0; j = 0
}
#endif

/* A node of the tree. */
proctype tree_node(byte n)
{
	byte i, j;
end:
	do
	BLOCKS(TTAKE_0)
	BLOCKS(TTAKE_1)
	BLOCKS(TTAKE_2)
	BLOCKS(TTAKE_Y)
#ifdef TWO_LEAVES
	BLOCKS(TTAKE_X)
#endif
	BLOCKS(TRESULT)
#ifdef BACK
	:: d_step { n != ROOT && !IS(asked | tdead, n) && NEEDED(TREE) && !(released & RANKS_OF(n)) &&
		    (!(RANKS_OF(n) & 1) || join[TREE * N]) && (!(RANKS_OF(n) & 2) || join[TREE * N + 1]) &&
		    (!(RANKS_OF(n) & 4) || join[TREE * N + 2]) ->
		asked = asked | BIT(n) }
	:: d_step { n == ROOT && !IS(begun | tdead, ROOT) && NEEDED(TREE) && IS(asked, Y) && HAS_JOINED_2 &&
		    SAME_NEXT ->
		lowest_next(TREE);
		begun = begun | BIT(ROOT);
		tree_slots(ROOT, j) }
	:: d_step { n != ROOT && IS(begun, ROOT) && IS(asked, n) && !IS(begun | tdead, n) && NEEDED(TREE) ->
		begun = begun | BIT(n);
#ifndef NO_RULE_6_CHILDREN
		if
		:: released & RANKS_OF(n) -> over = over | BIT(n)
		:: else
		fi;
#endif
		tree_slots(n, ready[TREE] - 1) }
	RELEASE(0)
	RELEASE(1)
#ifdef TWO_LEAVES
	RELEASE(2)
#endif
#endif
#ifndef NO_RULE_6_UP
	:: d_step { n != ROOT && IS(gone, n) && !IS(gone, ROOT) && !IS(tdead, n) && NEEDED(TREE) ->
		gone = gone | BIT(ROOT) }
#endif
	:: d_step { n == ROOT && IS(begun, ROOT) && !IS(tdead | over, ROOT) && NEEDED(TREE) &&
		    (IS(gone, ROOT) || CHILD_LOST) ->
		printf("the root ends the group\n");
		over = over | BIT(ROOT) }
	:: d_step { n != ROOT && IS(begun, n) && !IS(tdead | over, n) && NEEDED(TREE) &&
		    (ERROR_DOWN || PARENT_LOST) ->
		printf("node %d of the tree has heard that the group is over\n", n);
		over = over | BIT(n) }
	:: d_step { failures < FAILURES && !IS(tdead, n) && NEEDED(TREE) ->
		failures++;
		tdead = tdead | BIT(n);
		printf("node %d of the tree dies\n", n) }
	/* nodes take one another for dead: the root a leaf, or a leaf the root */
	:: d_step { failures < FAILURES && IS(begun, n) && !IS(tdead | over, n) && NEEDED(TREE) ->
		failures++;
		over = over | BIT(n);
		printf("node %d of the tree takes another one for dead\n", n) }
	od
}

/* Where a rank has gone, those that have not yet do not get over the loss of a node, or a return. */
#ifdef BACK
#define MAY_WAIT(r)	(failures || state[0] == GONE || state[1] == GONE || state[2] == GONE)
#else
#define MAY_WAIT(r)	failures
#endif
#define FINISHED(r)	(NEXT(r) >= LEAVE && (state[r] == GONE || MAY_WAIT(r)))

init
{
	byte i;

	atomic {
		i = 0;
		do
		:: i < N -> join[FROM * N + i] = 1; i++
		:: else -> break
		od;
		ready[FROM] = 1;
#ifdef BACK
		knows = ALL;
		/* some ranks may have the result of block 0, of a tree that is lost */
		if
		:: skip
		:: got[0] = 1
		:: got[1] = 1
		:: got[0] = 1; got[1] = 1
		:: got[2] = 1
		:: got[0] = 1; got[2] = 1
		:: got[1] = 1; got[2] = 1
		fi;
		origin[0] = (got[0] | got[1] | got[2] -> TREE + MOVES + 1 : 0);
		sent = (origin[0] -> 1 : 0);
		i = 0;
		do
		:: i < S -> q[FROM * S + i] = i; i++
		:: else -> break
		od;
#else
		begun = BELOW(NODES);
		i = 0;
		do
		:: i < NODES * S -> tq[i] = i % S; i++
		:: else -> break
		od;
#endif
		i = 0;
		do
		:: i < N -> run rank(i); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < MOVES ->
			if
			:: i != TREE && i >= FROM -> run node(i)
			:: else
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < NODES -> run tree_node(i); i++
		:: else -> break
		od;
		i = 0
	}
	timeout -> assert((FINISHED(0) && FINISHED(1) && FINISHED(2)) || stuck)
}
