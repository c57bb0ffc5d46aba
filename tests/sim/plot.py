#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of `sim --table`, from standard input, as a drawing (SVG) on standard output: commands a
turn, the delay of its start, and of a takeover, against the number of devices."""
import re
import sys

WIDTH, HEIGHT, LEFT, TOP, GAP = 640, 190, 60, 40, 70
INK, MEAN, P99 = "#222", "#1f5fa8", "#b3541e"


def read_rows(lines):
    """[(devices, commands mean, p99, start mean, p99, takeover mean, p99 in s)]; None: there is none"""
    pair = r" ([\d.]+) / ([\d.]+) \|"
    rows = []
    for line in lines:
        numbers = re.match(r"\| (\d+) \|" + 2 * pair + f"(?:{pair})?", line)
        if numbers:
            rows.append(tuple(number and float(number) for number in numbers.groups()))
    return rows


def text(x, y, words, anchor="middle", size=12, colour=INK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}">{words}</text>')


class Panel:
    def __init__(self, top, title, greatest, step):
        self.top, self.title, self.greatest, self.step = top, title, greatest, step

    def y(self, value):
        return self.top + HEIGHT * (1 - value / self.greatest)

    def frame(self, rows):
        parts = [text(LEFT, self.top - 12, self.title, "start", 14)]
        value = 0.0
        while value <= self.greatest + 1e-9:
            y = self.y(value)
            parts.append(f'<line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(text(LEFT - 8, y + 4, f"{value:g}", "end"))
            value = round(value + self.step, 6)
        for place, row in enumerate(rows):
            parts.append(text(x_of(place, rows), self.top + HEIGHT + 18, f"{int(row[0]):,}"))
        return parts

    def curve(self, rows, column, name, name_below, colour):
        """The name's own place, in pixels below the end, keeps it apart from that of a curve close by."""
        points = [(x_of(place, rows), self.y(min(row[column], self.greatest)))
                  for place, row in enumerate(rows) if row[column] is not None]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts = [f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>']
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(text(LEFT + WIDTH + 8, points[-1][1] + name_below, name, "start", 12, colour))
        return parts


def x_of(place, rows):
    return LEFT + WIDTH * (place + 0.5) / len(rows)


def draw(rows):
    panels = [("commands a turn", 30, 10), ("start after the due instant, in s", 1, 0.25),
              ("takeover after a death, in s", 16, 4)]
    parts = []
    for number, (title, greatest, step) in enumerate(panels):
        panel = Panel(TOP + number * (HEIGHT + GAP), title, greatest, step)
        parts += panel.frame(rows) + panel.curve(rows, 2 * number + 1, "mean", 12, MEAN)
        parts += panel.curve(rows, 2 * number + 2, "p99", -2, P99)
    bottom = TOP + len(panels) * HEIGHT + (len(panels) - 1) * GAP + 40
    parts.append(text(LEFT + WIDTH / 2, bottom, "devices in the fleet"))
    width, height = LEFT + WIDTH + 60, bottom + 16
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" height="{height}" font-family="sans-serif">',
                      '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>"])


def main():
    rows = read_rows(sys.stdin)
    if not rows:
        sys.exit("plot.py: no table came in; pipe that of sim --table into it")
    print(draw(rows))


if __name__ == "__main__":
    main()
