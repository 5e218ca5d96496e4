#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Trains a small net on handwritten digits by DistributedDataParallel, once by INC and once by Gloo in
the same processes, and writes the losses of both and what communication took. Any launcher of
torch.distributed starts it:

    torchrun --nnodes 4 ... ddp_digits.py [--steps N] [--out FILE.json]
    inc run -n 4 -- python3 ddp_digits.py --out training.json
    ddp_digits.py --plot FILE.json FILE.svg     draws that; needs no PyTorch

Exit status: 0 the losses agree, 1 they do not.
"""
import argparse
import json
import os
import sys
import time
from xml.sax.saxutils import escape

DATA = "userspace/demo/data/digits.csv", "share/inc/digits.csv"
TOLERANCE = 1e-4  # of losses: the two fold sums in another order
COLOURS = {"inc": "#1b6ca8", "gloo": "#c8553d"}


def find_data():
    """In the sources, or where `make install` puts it."""
    place = os.path.dirname(os.path.abspath(__file__))
    while place != "/":
        for name in DATA:
            if os.path.exists(os.path.join(place, name)):
                return os.path.join(place, name)
        place = os.path.dirname(place)
    return "/usr/share/inc/digits.csv"


class Clock:
    """Seconds in which at least one allreduce was under way."""

    def __init__(self):
        self.seconds, self.under_way, self.begin = 0.0, 0, 0.0

    def start(self):
        if not self.under_way:
            self.begin = time.perf_counter()
        self.under_way += 1

    def end(self):
        self.under_way -= 1
        if not self.under_way:
            self.seconds += time.perf_counter() - self.begin


class Training:
    """One rank of both trainings."""

    def __init__(self, args):
        import torch
        import torch.distributed as dist
        self.torch, self.dist, self.args = torch, dist, args
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        with open(args.data, encoding="ascii") as file:
            rows = torch.tensor([[float(x) for x in line.split(",")] for line in file
                                 if line.strip()])
        self.pixels, self.wanted = rows[:, :64] / 16, rows[:, 64].long()

    def batch(self, step):
        """This rank's part of a step's batch."""
        count = self.args.batch
        begin = (step * self.size + self.rank) * count % (len(self.wanted) - count)
        return self.pixels[begin:begin + count], self.wanted[begin:begin + count]

    def hook(self, clock, group):
        """What DDP does with gradients by itself, with a look at the clock."""
        def average(_, bucket):
            clock.start()
            work = self.dist.all_reduce(bucket.buffer().div_(self.size), group=group,
                                        async_op=True)

            def ended(future):
                clock.end()
                return future.value()[0]
            return work.get_future().then(ended)
        return average

    def train(self, group, other):
        """Losses, seconds of communication up to each step, and in all. other: for the losses."""
        torch, nn = self.torch, self.torch.nn
        torch.manual_seed(self.args.seed)
        hidden = self.args.hidden
        net = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                            nn.Linear(hidden, 10))
        model = nn.parallel.DistributedDataParallel(net, process_group=group, bucket_cap_mb=0.03)
        clock, losses, spent = Clock(), [], []
        model.register_comm_hook(None, self.hook(clock, group))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        begin = time.perf_counter()
        for step in range(self.args.steps):
            pixels, wanted = self.batch(step)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(pixels), wanted)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach().double())
            spent.append(clock.seconds)
        seconds = time.perf_counter() - begin
        mean = torch.stack(losses)
        self.dist.all_reduce(mean, group=other)
        return {"losses": (mean / self.size).tolist(), "communication": spent, "seconds": seconds}


def run(args):
    import inc_torch
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("inc")
    gloo = dist.new_group(backend="gloo")
    training = Training(args)
    report = {"ranks": dist.get_world_size(), "torch": torch.__version__,
              "runs": {"inc": training.train(None, gloo), "gloo": training.train(gloo, gloo)}}
    counted = inc_torch.counters()
    report["by_inc"], report["by_gloo"] = counted["allreduce"], counted["gloo.allreduce"]
    ours, theirs = (report["runs"][name]["losses"] for name in ("inc", "gloo"))
    report["difference"] = max(abs(a - b) / max(1, b) for a, b in zip(ours, theirs))
    if dist.get_rank() == 0:
        show(report)
        if args.out:
            with open(args.out, "w", encoding="ascii") as file:
                json.dump(report, file)
    dist.destroy_process_group()
    return 0 if report["difference"] <= TOLERANCE else 1


def show(report):
    runs = report["runs"]
    steps = len(runs["inc"]["losses"])
    print(f"{report['ranks']} ranks, PyTorch {report['torch']}: {report['by_inc']} allreduces by INC, "
          f"{report['by_gloo']} of its group by Gloo")
    print(f"{'step':>6} {'loss, INC':>12} {'loss, Gloo':>12} {'comm., INC':>12} {'comm., Gloo':>12}")
    for step in sorted({0, steps - 1, *range(0, steps, max(1, steps // 10))}):
        print(f"{step:6} " + " ".join(f"{runs[name]['losses'][step]:12.6f}" for name in runs) + " " +
              " ".join(f"{runs[name]['communication'][step]:10.3f} s" for name in runs))
    print(f"losses differ by {report['difference']:.1e} of 1 at most; "
          f"{runs['inc']['seconds']:.2f} s by INC, {runs['gloo']['seconds']:.2f} s by Gloo")


# ---- The plot ------------------------------------------------------------------------------------

class Plot:
    """One diagram of an SVG: lines over steps."""

    WIDTH, HEIGHT, LEFT, TOP = 360, 240, 60, 50

    def __init__(self, at, title, unit, curves):
        self.at, self.title, self.unit, self.curves = at, title, unit, curves
        self.most = max(max(values) for values in curves.values()) or 1.0
        self.steps = max(max(len(values) for values in curves.values()) - 1, 1)

    def x(self, step):
        return self.at + self.LEFT + self.WIDTH * step / self.steps

    def y(self, value):
        return self.TOP + self.HEIGHT * (1 - value / self.most)

    def text(self, x, y, text, anchor="middle"):
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'

    def grid(self):
        left, right = self.x(0), self.x(self.steps)
        for i in range(5):
            value = self.most * i / 4
            yield (f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{self.y(value):.1f}" '
                   f'y2="{self.y(value):.1f}" stroke="#ddd"/>')
            yield self.text(left - 6, self.y(value) + 4, f"{value:.3g}", "end")
        for i in range(5):
            step = round(self.steps * i / 4)
            yield self.text(self.x(step), self.TOP + self.HEIGHT + 18, str(step))

    def draw(self):
        yield self.text(self.x(self.steps / 2), self.TOP - 24, self.title)
        yield self.text(self.x(self.steps / 2), self.TOP + self.HEIGHT + 36, f"step ({self.unit})")
        yield from self.grid()
        for n, (name, values) in enumerate(self.curves.items()):
            points = " ".join(f"{self.x(i):.1f},{self.y(v):.1f}" for i, v in enumerate(values))
            # the first one is wide: the other one would hide it where both are the same
            yield (f'<polyline class="{name}" fill="none" stroke="{COLOURS[name]}" '
                   f'stroke-width="{1.5 if n else 5}" points="{points}"/>')
            yield (f'<text x="{self.x(self.steps) + 8:.1f}" y="{self.TOP + 16 + 16 * n}" '
                   f'fill="{COLOURS[name]}">{name}</text>')


def plot(source, to):
    with open(source, encoding="ascii") as file:
        report = json.load(file)
    runs = report["runs"]
    width = 2 * (Plot.WIDTH + Plot.LEFT + 50)
    diagrams = [Plot(0, f"Loss, {report['ranks']} ranks", "vertical: mean of all ranks",
                     {name: run["losses"] for name, run in runs.items()}),
                Plot(width // 2, "Communication so far",
                     "vertical: seconds in which an allreduce was under way",
                     {name: run["communication"] for name, run in runs.items()})]
    with open(to, "w", encoding="utf-8") as file:
        print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="350" '
              'font-family="sans-serif" font-size="12">', file=file)
        print(f'<rect width="{width}" height="350" fill="white"/>', file=file)
        for diagram in diagrams:
            print(*diagram.draw(), sep="\n", file=file)
        print("</svg>", file=file)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32, help="samples of a rank in a step")
    parser.add_argument("--hidden", type=int, default=96, help="width of the net")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", default=find_data(), metavar="FILE.csv")
    parser.add_argument("--out", metavar="FILE.json")
    parser.add_argument("--plot", nargs=2, metavar=("FILE.json", "FILE.svg"))
    args = parser.parse_args()
    if args.steps < 1 or args.batch < 1 or args.hidden < 1:
        parser.error("--steps, --batch and --hidden: expected 1 or more")
    return plot(*args.plot) if args.plot else run(args)


sys.exit(main())
