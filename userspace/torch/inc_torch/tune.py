# SPDX-License-Identifier: LGPL-2.1-or-later
"""
Measures collectives by INC and by Gloo, in the same run and in turns, and writes a tuning table, see
Documentation/howto-torch.rst. It is started as the programs that are to use the table, on the same
hosts:

    torchrun --nnodes 4 ... -m inc_torch.tune -o torch.tune
    inc run -n 4 -- python3 -m inc_torch.tune -o torch.tune

Of each size it knows the time of the slowest rank, the median of the rounds. A size stands for those
around it, up to half-way to the next one that is measured.
"""
import argparse
import math
import statistics
import sys
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TextIO, Tuple

import torch
import torch.distributed as dist

import inc_torch

STEP = 4  # from one size to the next
ROUND_SECONDS = 0.004  # that a round may take, about
MAX_CALLS = 200  # in a round
MAX_BYTES = 1 << 28

Call = Callable[[Any], Any]  # of a group


class Measure(NamedTuple):
    bytes: int
    inc: float  # seconds
    gloo: float


def _whole(size: int, count: int) -> torch.Tensor:
    return torch.zeros(size * count)


def _shares(size: int, count: int) -> List[torch.Tensor]:
    return list(_whole(size, count).chunk(size))


def _allreduce(size: int, count: int) -> Call:
    x = torch.zeros(size * count)
    return lambda group: dist.all_reduce(x, group=group)


def _broadcast(size: int, count: int) -> Call:
    x = torch.zeros(size * count)
    return lambda group: dist.broadcast(x, 0, group=group)


def _reduce(size: int, count: int) -> Call:
    x = torch.zeros(size * count)
    return lambda group: dist.reduce(x, 0, group=group)


def _allgather(size: int, count: int) -> Call:
    whole, own = _whole(size, count), torch.zeros(count)
    return lambda group: dist.all_gather_into_tensor(whole, own, group=group)


def _reduce_scatter(size: int, count: int) -> Call:
    whole, own = _whole(size, count), torch.zeros(count)
    return lambda group: dist.reduce_scatter_tensor(own, whole, group=group)


def _gather(size: int, count: int) -> Call:
    shares, own = _shares(size, count), torch.zeros(count)
    root = dist.get_rank() == 0
    return lambda group: dist.gather(own, shares if root else None, 0, group=group)


def _scatter(size: int, count: int) -> Call:
    shares, own = _shares(size, count), torch.zeros(count)
    root = dist.get_rank() == 0
    return lambda group: dist.scatter(own, shares if root else None, 0, group=group)


def _barrier(size: int, count: int) -> Call:
    return lambda group: dist.barrier(group=group)


# By the names that tables have for them, with that of the counter.
FUNCTIONS: Dict[str, Tuple[str, Callable[[int, int], Call]]] = {
    "barrier": ("barrier", _barrier),
    "bcast": ("broadcast", _broadcast),
    "reduce": ("reduce", _reduce),
    "allreduce": ("allreduce", _allreduce),
    "reduce_scatter_block": ("_reduce_scatter_base", _reduce_scatter),
    "gather": ("gather", _gather),
    "scatter": ("scatter", _scatter),
    "allgather": ("_allgather_base", _allgather),
}


class Tuner:
    """One rank of the measurement."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.inc = dist.new_group(pg_options=inc_torch.Options(mode="on", tune="off", min=0, colls="all",
                                                               one_host=True))
        self.gloo = dist.new_group(pg_options=inc_torch.Options(mode="off"))

    def say(self, text: str) -> None:
        if self.rank == 0 and not self.args.quiet:
            print(text, file=sys.stderr, flush=True)

    def seconds(self, call: Call, group: Any, calls: int) -> float:
        """Of one of these calls, at the slowest rank."""
        dist.barrier(group=self.gloo)
        begin = time.perf_counter()
        for _ in range(calls):
            call(group)
        spent = torch.tensor([(time.perf_counter() - begin) / calls], dtype=torch.float64)
        dist.all_reduce(spent, op=dist.ReduceOp.MAX, group=self.gloo)
        return float(spent)

    def measure(self, call: Call, counter: str) -> Optional[Tuple[float, float]]:
        """Seconds by INC and by Gloo; None: it is not INC that does it."""
        before = inc_torch.counters(self.inc)[counter]
        # the first call of a kind may take longer
        for group in (self.inc, self.gloo):
            call(group)
        if inc_torch.counters(self.inc)[counter] == before:
            return None
        once = self.seconds(call, self.inc, 1) + self.seconds(call, self.gloo, 1)
        calls = max(1, min(MAX_CALLS, int(ROUND_SECONDS / once)))
        inc, gloo = [], []
        for number in range(self.args.rounds):
            # in turns, so that what else the machines do meets both
            for group in (self.inc, self.gloo) if number & 1 else (self.gloo, self.inc):
                (inc if group is self.inc else gloo).append(self.seconds(call, group, calls))
        return statistics.median(inc), statistics.median(gloo)

    def function(self, name: str) -> List[Measure]:
        """All sizes of one function."""
        counter, make = FUNCTIONS[name]
        measures: List[Measure] = []
        size = self.args.bytes[0]
        while size <= self.args.bytes[1]:
            count = max(1, size // (4 * self.size))
            have = count * self.size * 4
            size *= STEP
            if measures and measures[-1].bytes == have:
                continue
            found = self.measure(make(self.size, count), counter)
            if found is None:
                self.say(f"{name}, {have} bytes: not by INC, INC_TORCH=verbose says why")
            else:
                measures.append(Measure(have, *found))
                self.say(f"{name}, {have} bytes: INC {found[0] * 1e6:.1f} us, Gloo {found[1] * 1e6:.1f} us")
            if name == "barrier":
                break
        return measures


def _half_way(one: int, other: int) -> int:
    """Between two sizes whose ratio is what matters."""
    return math.isqrt(one * other)


def table_lines(name: str, ranks: str, measures: List[Measure]) -> List[str]:
    """Of one function, each size for those around it."""
    lines = []
    for i, measure in enumerate(measures):
        low = _half_way(measures[i - 1].bytes, measure.bytes) + 1 if i else 0
        high = str(_half_way(measure.bytes, measures[i + 1].bytes)) if i + 1 < len(measures) else ""
        span = "any" if name == "barrier" else f"{low}-{high}"
        who = "inc" if measure.inc < measure.gloo else "gloo"
        times = [max(1, int(seconds * 1e9)) for seconds in measure[1:]]
        lines.append(f"{name:20} any     {ranks:5} {span:15} {who:4} {times[0]:9} {times[1]:9}")
    return lines


def _names(text: str) -> List[str]:
    names = text.split(",")
    for name in names:
        if name not in FUNCTIONS:
            raise argparse.ArgumentTypeError(f"{name!r}: expected names of {', '.join(FUNCTIONS)}")
    return names


def _span(text: str) -> Tuple[int, int]:
    low, _, high = text.partition("-")
    if low.isascii() and low.isdigit() and high.isascii() and high.isdigit() and \
            0 < int(low) <= int(high) <= MAX_BYTES:
        return int(low), int(high)
    raise argparse.ArgumentTypeError(f"{text!r}: expected FROM-TO, of 1 to {MAX_BYTES} bytes")


def _rounds(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= 1001:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r}: expected 1 to 1001")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="inc_torch.tune", description="Measures a tuning table.")
    parser.add_argument("-o", dest="path", metavar="FILE", help="the table that it writes, else stdout")
    parser.add_argument("-c", dest="functions", type=_names, default=list(FUNCTIONS),
                        metavar="FUNCTION[,...]", help=f"of {', '.join(FUNCTIONS)}; all")
    parser.add_argument("-s", dest="bytes", type=_span, default=(8, 1 << 20), metavar="FROM-TO",
                        help="bytes of the largest buffer of a rank; 8-1048576")
    parser.add_argument("-r", dest="ranks", help="for how many ranks the table is: any, N, N-M or N-; as "
                        "many as there are")
    parser.add_argument("-n", dest="rounds", type=_rounds, default=15, help="measures of each size; 15")
    parser.add_argument("-q", dest="quiet", action="store_true", help="no progress")
    return parser.parse_args()


def _write(file: TextIO, tuner: Tuner, lines: List[str]) -> None:
    print(f"# Tuning table of inc_torch, measured by inc_torch.tune: {tuner.size} ranks, PyTorch "
          f"{torch.__version__}\n"
          "# function type ranks bytes inc|gloo, and nanoseconds of a call by inc and by gloo",
          *lines, sep="\n", file=file)


def main() -> int:
    args = _arguments()
    dist.init_process_group("inc")
    tuner = Tuner(args)
    status = 0
    if inc_torch.group_number(tuner.inc) is None:
        tuner.say("inc_torch.tune: INC does not serve this group: INC_TORCH=verbose says why")
        status = 1
    else:
        lines: List[str] = []
        for name in args.functions:
            lines += table_lines(name, args.ranks or str(tuner.size), tuner.function(name))
        if tuner.rank == 0 and args.path:
            with open(args.path, "w", encoding="ascii") as file:
                _write(file, tuner, lines)
        elif tuner.rank == 0:
            _write(sys.stdout, tuner, lines)
    dist.destroy_process_group()
    return status


if __name__ == "__main__":
    sys.exit(main())
