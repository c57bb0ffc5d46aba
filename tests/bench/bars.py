# SPDX-License-Identifier: MIT
"""A table as a drawing (SVG): a bar a row for the median, and a whisker to the p99. rota's bars are full and the peers'
hollow, so that it reads without colour too; the viewer's choice of light or dark is followed."""
import html
import math

from figures import number

ROW, BAR, TOP, LEFT, WIDTH, RIGHT = 26, 14, 44, 280, 420, 120
# From here on small values would be no more than a line at the axis.
DECADES_RATIO = 30
STYLE = """<style>
text { fill: #222; font: 12px sans-serif } .title { font-size: 14px } .grid { stroke: #ddd }
.ours { fill: #1f5fa8; stroke: #1f5fa8 } .peer { fill: none; stroke: #777 } .page { fill: white }
.whisker { stroke: #b3541e; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .grid { stroke: #444 } .ours { fill: #6ea8ea; stroke: #6ea8ea } .peer { stroke: #aaa }
.whisker { stroke: #f0a070 } .page { fill: #16181c } }
</style>"""


class Axis:
    """From nothing on; or by decades, where the least value would not be seen otherwise."""

    def __init__(self, values):
        self.most = max(values) or 1
        above = [value for value in values if value > 0]
        least = min(above, default=1)
        self.log = self.most / least > DECADES_RATIO
        if self.log:
            # A bar of the least value is to be seen as well.
            self.first = 10 ** (math.ceil(math.log10(least)) - 1)
            if least / self.first < 1.2:
                self.first /= 10
            self.most = 10 ** math.ceil(math.log10(self.most))
        else:
            self.step = step_of(self.most)
            self.most = math.ceil(self.most / self.step - 1e-9) * self.step

    def x(self, value):
        if self.log:
            share = math.log(max(value, self.first) / self.first) / math.log(self.most / self.first)
        else:
            share = value / self.most
        return LEFT + WIDTH * share

    def ticks(self):
        if not self.log:
            return [self.step * i for i in range(round(self.most / self.step) + 1)]
        first, last = round(math.log10(self.first)), round(math.log10(self.most))
        return [10.0 ** power for power in range(first, last + 1, 1 + (last - first) // 8)]


def step_of(most):
    """Of 1, 2 or 5 times a power of ten: four to eight of them."""
    power = 10 ** math.floor(math.log10(most / 4))
    return next(power * times for times in (1, 2, 5, 10) if most / (power * times) <= 8)


def text(x, y, words, anchor="start", kind=""):
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{kind}>{html.escape(words)}</text>'


def bar(row, axis, y):
    end, kind = axis.x(row.median), "ours" if row.ours else "peer"
    parts = [text(LEFT - 8, y + 11, row.who, "end"),
             f'<rect class="{kind}" x="{LEFT}" y="{y:.1f}" width="{max(0.0, end - LEFT):.1f}" height="{BAR}"/>']
    words, behind = number(row.median), end
    if len(row.values) > 1 and row.p99 > row.median:
        behind = axis.x(row.p99)
        middle = y + BAR / 2
        parts += [f'<line class="whisker" x1="{end:.1f}" x2="{behind:.1f}" y1="{middle}" y2="{middle}"/>',
                  f'<line class="whisker" x1="{behind:.1f}" x2="{behind:.1f}" y1="{y + 2}" y2="{y + BAR - 2}"/>']
        words += f" (p99 {number(row.p99)})"
    return [*parts, text(behind + 6, y + 11, words)]


def draw(table):
    rows = sorted(table.rows, key=lambda row: row.median) if table.peers() and table.compared else table.rows
    axis = Axis([value for row in rows for value in (row.median, row.p99)])
    bottom = TOP + ROW * len(rows)
    title = table.title if table.unit in table.title.lower() else f"{table.title}, {table.unit}"
    parts = [text(12, 20, title + (" (each step is ten times the last)" if axis.log else ""),
                  kind="title")]
    for tick in axis.ticks():
        x = axis.x(tick)
        parts += [f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{bottom}"/>',
                  text(x, bottom + 16, f"{tick:,g}", "middle")]
    for place, row in enumerate(rows):
        parts += bar(row, axis, TOP + ROW * place)
    width, height = LEFT + WIDTH + RIGHT, bottom + 28
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" role="img">', f"<title>{html.escape(table.title)}</title>", STYLE,
                      '<rect class="page" width="100%" height="100%"/>', *parts, "</svg>"]) + "\n"
