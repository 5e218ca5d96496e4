# SPDX-License-Identifier: GPL-2.0-only
"""
Sparse data: blocks of zeros go as headers, up and down, and are counted; started by 47-sparse.sh.
"""
import array

import inc_abi as abi
from inc_abi import Job, equal, test, wait_until

HOSTS = ("h1", "h2", "h3")
BLOCKS = 40
MANY = 400      # so that a rank sends dozens at once
BROADCAST = 5
GARBAGE = 0x5a5a5a5a


class Sparse:
    """Allreduces of so many blocks of i32, of each of which a rank has something or nothing."""

    def __init__(self, number, blocks):
        self.job = Job(number, HOSTS)
        self.blocks = blocks
        block = self.job.ranks[0].info()["block"]
        self.first, self.full = (block - 32) // 4, block // 4
        self.n = self.first + (blocks - 1) * self.full
        self.block = block

    def at(self, block):
        """The first element of it."""
        return self.first + (block - 1) * self.full if block else 0

    def values(self, rank, dense):
        """Zeros, but for one element, the last one, of each block that is in @dense."""
        values = array.array("i", bytes(4 * self.n))
        for block in dense:
            values[self.at(block + 1) - 1] = 1000 * (rank + 1) + block
        return values

    def reduce(self, dense):
        """What rank r has in blocks dense[r]; returns what was counted at hosts and node."""
        before = {ns: abi.counters(ns) for ns in (*HOSTS, "sw")}
        inputs = [self.values(r, blocks) for r, blocks in enumerate(dense)]
        want = array.array("i", (sum(v) for v in zip(*inputs)))
        handles = []
        for rank, values in zip(self.job.ranks, inputs):
            recv = array.array("i", [GARBAGE]) * self.n
            handle = rank.submit(count=self.n, send=values.buffer_info()[0],
                                 recv=recv.buffer_info()[0])
            rank.buffers[handle] = (values, recv)
            handles.append(handle)
        for rank, handle in zip(self.job.ranks, handles):
            rank.check(handle, want)
        after = {ns: abi.counters(ns) for ns in (*HOSTS, "sw")}
        return {ns: {k: after[ns][k] - before[ns][k] for k in after[ns]} for ns in after}

    def expect(self, dense):
        """
        Of the first block, which has the operation's descriptor, elements are always sent. What is
        lost on a slow machine is sent, and counted, once more.
        """
        got = self.reduce(dense)
        union = {0}.union(*dense)
        equal(got["sw"]["blocks"], self.blocks, "blocks")
        equal(got["sw"]["blocks_zero"], self.blocks - len(union), "results of zeros")
        for ns, mine in zip(HOSTS, dense):
            zeros = self.blocks - len({0} | set(mine))
            again = got[ns]["contribs_resent"]
            if again:
                print(f"# {ns}: {again} contributions sent again")
            if not zeros <= got[ns]["blocks_zero"] <= zeros + again:
                raise AssertionError(f"{ns}: {got[ns]['blocks_zero']} contributions of zeros, expected {zeros}, "
                                     f"and {again} at most sent again")
        return got


@test("zeros at all ranks: headers only")
def t_all(sparse):
    got = sparse.expect([[7], [7], [7, 30]])
    # three results with elements for each host, and some headers; all would be forty
    most = len(HOSTS) * 6 * sparse.block
    if got["sw"]["tx_bytes"] > most:
        raise AssertionError(f"the node has sent {got['sw']['tx_bytes']} bytes, expected {most}")
    if got["sw"]["rx_bytes"] > most:
        raise AssertionError(f"the node has got {got['sw']['rx_bytes']} bytes, expected {most}")


@test("zeros at some ranks: every block has a result with elements")
def t_some(sparse):
    sparse.expect([range(r, BLOCKS, 3) for r in range(3)])


@test("zeros at nobody: nothing is different")
def t_none(sparse):
    sparse.expect([range(BLOCKS)] * 3)


@test("zeros everywhere, again and again")
def t_again(sparse):
    for _ in range(20):
        sparse.expect([[]] * 3)


@test("zeros in every other block: none goes with its bytes")
def t_other(_first):
    sparse = Sparse(78, MANY)
    for _ in range(5):
        sparse.expect([range(0, MANY, 2)] * 3)
    sparse.job.close()


@test("broadcast: zeros take the place of what was there")
def t_broadcast(sparse):
    before = abi.counters("sw")["blocks_zero"]
    values = sparse.values(0, [3, 4, 39])
    buffers = [values] + [array.array("i", [GARBAGE]) * sparse.n for _ in HOSTS[1:]]
    handles = [rank.submit(coll=BROADCAST, op=0, count=sparse.n, send=b.buffer_info()[0],
                           recv=b.buffer_info()[0])
               for rank, b in zip(sparse.job.ranks, buffers)]
    for rank, handle in zip(sparse.job.ranks, handles):
        equal(rank.wait(handle).result, 0, "result")
    for b in buffers[1:]:
        equal(b == values, True, "elements are those of the root")
    equal(abi.counters("sw")["blocks_zero"] - before, BLOCKS - 4, "results of zeros")


@test("minus zero is not zero")
def t_minus(sparse):
    before = abi.counters("sw")["blocks_zero"]
    minus = array.array("f", [-0.0]) * sparse.n
    handles = []
    for rank in sparse.job.ranks:
        recv = array.array("f", [1.0]) * sparse.n
        handle = rank.submit(dtype=11, count=sparse.n, send=minus.buffer_info()[0],
                             recv=recv.buffer_info()[0])
        rank.buffers[handle] = (minus, recv)
        handles.append(handle)
    for rank, handle in zip(sparse.job.ranks, handles):
        equal(rank.wait(handle).result, 0, "result")
        equal(rank.buffers.pop(handle)[1].tobytes(), minus.tobytes(), "the sum of -0 and -0")
    equal(abi.counters("sw")["blocks_zero"], before, "results of zeros")


if __name__ == "__main__":
    all_of_it = Sparse(77, BLOCKS)
    abi.main(all_of_it)
    all_of_it.job.close()
    wait_until(lambda: not abi.groups("sw"), "the group is gone")
