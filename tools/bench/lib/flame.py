# SPDX-License-Identifier: GPL-2.0-only
"""Flame graphs: call stacks, counted, and drawn as SVG.

A stack is a tuple of frames, the outermost first; stacks are a dict {stack: samples}. Each frame is
a box as wide as the samples of all stacks that begin with the frames below it; boxes of one frame
stand in the order of their names, so that the horizontal axis is no time (B. Gregg, "The Flame
Graph", Communications of the ACM 59(6), 2016).
"""
import html

WIDTH, ROW, TOP, SIDE = 1200, 17, 44, 10
NARROW = 0.3        # pixels, below which a box is not drawn
LETTER = 6.6        # pixels of one, roughly
# colours by what is before the first colon of a frame's name: a module, or whose it is
COLOURS = {"inc": "#e4572e", "sch_inc": "#e4572e", "kernel": "#f3c969", "user": "#76b39d",
           "machine": "#b8c4d6"}


class Box:
    """A frame above others: how many samples have it, and what stands on it."""

    def __init__(self):
        self.samples, self.own, self.above = 0, 0, {}

    def add(self, stack, samples):
        box = self
        box.samples += samples
        for frame in stack:
            box = box.above.setdefault(frame, Box())
            box.samples += samples
        box.own += samples

    def depth(self):
        return 1 + max((box.depth() for box in self.above.values()), default=0)


def self_times(stacks):
    """{innermost frame: samples}"""
    out = {}
    for stack, samples in stacks.items():
        out[stack[-1]] = out.get(stack[-1], 0) + samples
    return out


def draw(path, title, stacks):
    """Writes the SVG; a box says its name, its samples and its share when it is pointed at."""
    root = Box()
    for stack, samples in stacks.items():
        root.add(stack, samples)
    rows = root.depth()
    height = TOP + rows * ROW + SIDE
    scale = (WIDTH - 2 * SIDE) / max(root.samples, 1)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
             f'viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
             f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
             f'<text x="{WIDTH / 2}" y="18" font-size="15" text-anchor="middle">{html.escape(title)}'
             '</text>', legend()]

    def boxes(frame, box, left, row):
        width = box.samples * scale
        if width < NARROW:
            return
        top = height - SIDE - (row + 1) * ROW
        share = 100 * box.samples / root.samples
        lines.append(f'<g><title>{html.escape(frame)}: {box.samples} samples, {share:.1f} %, '
                     f'{box.own} of them its own</title><rect x="{left:.1f}" y="{top}" '
                     f'width="{width:.1f}" height="{ROW - 1}" rx="1" fill="{colour(frame)}"/>'
                     f'{label(frame, left, top, width)}</g>')
        for name in sorted(box.above):
            boxes(name, box.above[name], left, row + 1)
            left += box.above[name].samples * scale

    boxes("all", root, SIDE, 0)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n</svg>\n")


def colour(frame):
    return COLOURS.get(frame.partition(":")[0], "#ddd")


def label(frame, left, top, width):
    name = frame.partition(":")[2] or frame
    room = int((width - 6) / LETTER)
    if room < 3:
        return ""
    text = name if len(name) <= room else name[:room - 2] + ".."
    return f'<text x="{left + 3:.1f}" y="{top + ROW - 5}">{html.escape(text)}</text>'


def legend():
    out, left = [], SIDE
    for name in ("inc", "kernel", "user", "machine"):
        out.append(f'<rect x="{left}" y="26" width="12" height="12" fill="{COLOURS[name]}"/>'
                   f'<text x="{left + 16}" y="36">{name}</text>')
        left += 100
    return "\n".join(out)
