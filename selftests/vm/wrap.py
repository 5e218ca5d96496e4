# SPDX-License-Identifier: GPL-2.0-only
"""
Block numbers that wrap, and results that are right, and the same whatever instructions reduce them;
started by 30-wrap.sh.

    wrap.py blocks FIRST    operations around block FIRST; the node's and the ranks' numbers are
                            followed
    wrap.py hash            prints the SHA-256 of the results of f32 operations on numbers drawn
                            from SEED, after comparing each with a sum made here
"""
import hashlib
import math
import os
import random
import struct
import sys

import inc_abi as abi
from inc_abi import Job, Rank, equal, test
from inc_wire import F32

SEED = int(os.environ.get("SEED", "1"))
SPECIAL = (0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
           0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x3f800000, 0xbf800000, 0x33800000)
M64 = (1 << 64) - 1


def blocks_of(n, block):
    """Blocks of an operation of n elements of four bytes."""
    head, full = (block - 32) // 4, block // 4
    return 1 if n <= head else 1 + -(-(n - head) // full)


def follow(first):
    """Operations until well behind the wrap; every block number is the one it must be."""
    group = random.Random(SEED).randrange(1 << 32)
    job = Job(group, ("h1", "h2", "h3"))
    block, at = job.ranks[0].info()["block"], first
    for k, n in enumerate((1, 700, 0, 353, 5000, 20000, 0, 3, 30000, 1000)):
        job.run(n, k)
        at += blocks_of(n, block)
        shown = [g for g in abi.show("sw", "group") if g["group"] == group][0]
        equal(shown["next"], at & M64,
              f"next block of the node after operation {k} of {n} elements")
    # many at once, across whatever comes now
    handles = [job.begin((0, 1, 2), 50 + k, k) for k in range(30)]
    for k, h in enumerate(handles):
        job.end(h, 50 + k, k)
    # ranks disagree at such numbers, too: the next epoch goes on from there
    bad = [rank.allreduce(range(1000 + (rank.rank == 2))) for rank in job.ranks]
    for rank, handle in zip(job.ranks, bad):
        done = rank.wait(handle)
        equal((done.result, done.code), (-71, abi.MISMATCH),
              "result and code of ranks that disagree")
    job.run(2000, 99)
    equal(job.ranks[0].info()["epoch"], 2, "epoch afterwards")
    job.close()


def numbers(rng, n):
    """Bits of floats whose sums cancel, round and shift; an eighth of them special."""
    return [rng.choice(SPECIAL) if not rng.randrange(8) else
            rng.getrandbits(32) & 0x807fffff | rng.randrange(100, 150) << 23 for _ in range(n)]


def f32(bits):
    return struct.unpack("=f", struct.pack("=I", bits))[0]


def rounded(number):
    """The nearest f32. The sum of two f32 that was a double before is as if rounded only once."""
    try:
        return struct.unpack("=f", struct.pack("=f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def folded(values):
    """Along a binary tree, which is cut at the largest power of two below its size."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return rounded(folded(values[:half]) + folded(values[half:]))


def check_folded(got, sent):
    """Every element is the sum along the tree over the ranks; of a NaN only that it is one."""
    for i, bits in enumerate(struct.unpack(f"={len(got) // 4}I", got)):
        want = folded([f32(numbers_of[i]) for numbers_of in sent])
        if math.isnan(want):
            same = math.isnan(f32(bits))
        else:
            same = struct.pack("=I", bits) == struct.pack("=f", want)
        if not same:
            raise AssertionError(f"element {i} is {bits:#x}, {f32(bits)}, expected {want}")


def results():
    rng, digest = random.Random(SEED), hashlib.sha256()
    ranks = [Rank(ns) for ns in ("h1", "h2", "h3")]
    for i, rank in enumerate(ranks):
        rank.start(SEED, i, 3)
    for rank in ranks:
        rank.joined()
    for n in (1, 7, 353, 1500):
        keep, sent = [], [numbers(rng, n) for _ in ranks]
        for rank in ranks:
            send = bytearray(struct.pack(f"={n}I", *sent[rank.rank]))
            recv = bytearray(4 * n)
            keep.append((rank, recv, send,
                         rank.submit(dtype=F32, count=n, send=address(send), recv=address(recv))))
        for rank, recv, send, handle in keep:
            equal(rank.wait(handle).result, 0, f"rank {rank.rank}: result")
            if recv != keep[0][1]:
                raise AssertionError(
                    f"{n} elements: ranks 0 and {rank.rank} have different results")
        check_folded(keep[0][1], sent)
        digest.update(keep[0][1])
    for rank in ranks:
        rank.close()
    return digest.hexdigest()


def address(buf):
    return abi.ctypes.addressof((abi.ctypes.c_char * len(buf)).from_buffer(buf))


if sys.argv[1] == "hash":
    print(results())
else:
    NUMBER = int(sys.argv[2])
    del sys.argv[1:]

    @test(f"blocks from {NUMBER:#x} on")
    def t_blocks(_):
        follow(NUMBER)

    abi.main(None)
