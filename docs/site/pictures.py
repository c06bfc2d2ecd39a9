"""`python docs/site/pictures.py [NAME…]`: draw the pictures of README and site, all or some.

`in-time`: a scale-out on a real broker, from the study `in-time`. `scale-out`: the same simulated, larger (scenario
`thousand`). `join`: the copies of each client per rebalance while a client joins. `day`: imbalance and downtime of a day under
three assignors; needs a JDK. `weights`: the effect of a weight, from the study `weights`.

The program writes SVG itself, so that pictures are small, sharp and the same in every run. It writes each twice into
docs/pictures, for light and dark pages; texts stay texts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import optassign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.json_input import read_state
from optassign.simulation.successors import make_restored_snapshot
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import SimulatedRun, simulate
from optassign_benchmarks.results import read_study

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
_FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Colours:
    """The colours of a scheme."""

    text: str
    faint: str
    grid: str
    ours: str
    theirs: str
    other: str
    """The colour of a third assignor."""
    paper: str
    """The colour of texts on lines and bars."""


SCHEMES = {
    "light": Colours("#1f2328", "#59636e", "#d1d9e0", "#00796b", "#bc4c00", "#6e5494", "#ffffff"),
    "dark": Colours("#e6edf3", "#9198a1", "#3d444d", "#4dd0b5", "#f0883e", "#b392f0", "#0d1117"),
}


def svg(width: int, height: int, parts: Sequence[str]) -> str:
    """Return an SVG file with these elements."""
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{_FONT}">'
    return "\n".join([head, "<!-- Made by: python docs/site/pictures.py -->", *parts, "</svg>", ""])


def text(x: float, y: float, words: str, colour: str, *, size: int = 12, weight: int = 400, anchor: str = "start") -> str:
    """Return an SVG element with a line of text at (x, y); `anchor` is SVG's text-anchor."""
    look = f'font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{words}</text>'


Draw = Callable[[Colours], str]
"""Draws a picture in the colours of a scheme."""


SCENARIO, HOURS = "thousand", 14
"""The scenario of the scale-out, and the number of hours shown after the join."""
DEMO = Path(__file__).resolve().parents[2] / "tests/data/kafka-4.3.1/third-instance-joins.json"
"""The snapshot of `make demo`."""

WIDTH, HEIGHT = 880, 386
LEFT, TOP, BOTTOM, PANEL, GAP = 58, 118, 332, 340, 96


@dataclass(frozen=True)
class Line:
    """The line of an assignor in a panel: hours and values, and the label at its end."""

    values: Sequence[tuple[float, float]]
    end: str
    colour: str


def prepare_scale_out() -> Draw:
    """Simulate the scale-out under both assignors, and return the function that draws it."""
    scenario = read_scenario(SCENARIO)
    return partial(scale_out, simulate(scenario, "cp-sat"), simulate(scenario, "high-availability"))


def prepare_join() -> Draw:
    """Play the join of `DEMO`, and return the function that draws it."""
    return partial(join, _answers(DEMO))


def _answers(snapshot: Path) -> list[TaskAssignment]:
    """Return the answers of cp-sat until it requests no follow-up."""
    state = read_state(snapshot)
    answers = [optassign.assign(state)]
    while any(client.followup_rebalance_ms is not None for client in answers[-1].clients):
        state = make_restored_snapshot(state, answers[-1])
        answers.append(optassign.assign(state))
    return answers


def join(answers: Sequence[TaskAssignment], colours: Colours) -> str:
    """Draw three bars per rebalance, one for each client, of its active tasks, standbys and warm-ups."""
    width, height, base, unit, bar = 880, 312, 252, 13, 40
    ids = [client.process_id for client in answers[0].clients]
    new = min(ids, key=lambda process_id: len(answers[0].by_process_id[process_id].standby))
    order = [*(process_id for process_id in ids if process_id != new), new]
    parts = [
        text(
            18,
            26,
            "A third instance joins: its copies and those of the others, rebalance by rebalance",
            colours.text,
            size=15,
            weight=600,
        )
    ]
    roles = (("active", colours.ours), ("standby", colours.grid), ("warmup", colours.theirs))
    for place, (role, colour) in enumerate(roles):
        x = 18 + 120 * place
        parts.append(f'<rect x="{x}" y="41" width="14" height="14" rx="2" fill="{colour}"/>')
        parts.append(text(x + 22, 53, "warm-up" if role == "warmup" else role, colours.text, size=13))
    step = (width - 36) / len(answers)
    for n, answer in enumerate(answers):
        left = 18 + n * step
        for place, process_id in enumerate(order):
            client, x, y = answer.by_process_id[process_id], left + place * (bar + 8), float(base)
            for role, colour in roles:
                number = len(getattr(client, role))
                if number:
                    y -= number * unit
                    tall = f'y="{y + 1:.0f}" width="{bar}" height="{number * unit - 2}"'
                    parts.append(f'<rect x="{x:.1f}" {tall} rx="2" fill="{colour}"/>')
                    ink = colours.text if role == "standby" else colours.paper
                    parts.append(
                        text(x + bar / 2, y + number * unit / 2 + 4, str(number), ink, anchor="middle", size=11, weight=600)
                    )
            letter = "new" if process_id == new else "AB"[place]
            parts.append(text(x + bar / 2, base + 18, letter, colours.faint, anchor="middle"))
        parts.append(text(left + 1.5 * bar + 8, base + 42, f"rebalance {n + 1}", colours.text, anchor="middle"))
    return svg(width, height, parts)


def scale_out(ours: SimulatedRun, theirs: SimulatedRun, colours: Colours) -> str:
    """Draw two panels over the hours since the join: the imbalance of active tasks, and the active tasks moved so far."""
    join = ours.scenario.events[0].at
    title = "1,000 tasks, 25 instances join 75, 20 warm-ups at a time, a copy takes a minute: simulated"
    parts = [
        text(LEFT - 40, 26, title, colours.text, size=15, weight=600),
        _key(LEFT - 40, 46, f"optassign (cp-sat): {_describe(ours)}", colours.ours, colours),
        _key(LEFT - 40, 66, f"Kafka's default (high-availability): {_describe(theirs)}", colours.theirs, colours),
    ]
    imbalance = [
        [((point.at - join) / 3600, float(point.active_imbalance)) for point in played.measures.curve if point.at >= join]
        for played in (ours, theirs)
    ]
    moved = [_sum_moves(played, join) for played in (ours, theirs)]
    lines = (
        ("imbalance of active tasks", 1_000, imbalance, ("", "")),
        ("active tasks moved, in all", 2_000, moved, tuple(f"{played.measures.moves:,}" for played in (ours, theirs))),
    )
    for place, (name, step, values, ends) in enumerate(lines):
        both = [Line(_cut(values[1]), ends[1], colours.theirs), Line(_cut(values[0]), ends[0], colours.ours)]
        parts += _panel(place, name, HOURS, step, both, colours, "{:,.0f}")
    return svg(WIDTH, HEIGHT, parts)


def _sum_moves(played: SimulatedRun, since: float) -> list[tuple[float, float]]:
    events = [event for event in played.events if event["event"] == "rebalance" and event["at"] >= since]
    times = [(event["at"] - since) / 3600 for event in events]
    return [(0.0, 0.0), *zip(times, accumulate(float(len(event["moved"])) for event in events), strict=True)]


def _cut(values: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the curve as steps, up to the last shown hour."""
    shown = [point for point in values if point[0] <= HOURS]
    stepped = [shown[0]]
    for hour, value in shown[1:]:
        if value != stepped[-1][1]:
            stepped += [(hour, stepped[-1][1]), (hour, value)]
    return [*stepped, (float(HOURS), stepped[-1][1])]


def _describe(played: SimulatedRun) -> str:
    hours = played.measures.unbalanced_s / 3600
    took = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.1f} hours"
    return f"balanced after {took}, {played.measures.moves:,} active tasks moved, {played.measures.rebalances} rebalances"


def _panel(place: int, title: str, last: int, step: float, lines: Sequence[Line], colours: Colours, form: str) -> list[str]:
    """Return axes, grid and lines; `step` is the distance of grid lines."""
    left = LEFT + place * (PANEL + GAP)
    right = left + PANEL
    greatest = max(value for line in lines for _, value in line.values)
    top = step * -(-greatest // step)

    def x(hour: float) -> float:
        return left + PANEL * hour / last

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / top

    parts = [text(left - 40, TOP - 18, title, colours.text, size=13, weight=600)]
    value = 0.0
    while value <= top:
        parts.append(f'<path d="M{left} {y(value):.1f}H{right}" stroke="{colours.grid}" stroke-width="1"/>')
        parts.append(text(left - 8, y(value) + 4, form.format(value), colours.faint, anchor="end"))
        value += step
    for hour in range(0, last + 1, 2):
        parts.append(text(x(hour), BOTTOM + 20, str(hour), colours.faint, anchor="middle"))
    parts.append(text((left + right) / 2, BOTTOM + 40, "hours since the join", colours.faint, anchor="middle"))
    for line in lines:
        points = " ".join(f"{x(hour):.1f},{y(value):.1f}" for hour, value in line.values)
        at_x, at_y = x(line.values[-1][0]), y(line.values[-1][1])
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2.5" stroke-linejoin="round"/>'
        )
        parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="4.5" fill="{line.colour}"/>')
        near_right = at_x > right - 60
        parts.append(
            text(
                at_x + (0 if near_right else 10),
                at_y - (11 if near_right else 8),
                line.end,
                line.colour,
                size=14,
                weight=700,
                anchor="end" if near_right else "start",
            )
        )
    return parts


def _key(x: float, y: float, name: str, colour: str, colours: Colours) -> str:
    return f'<path d="M{x} {y - 5}h22" stroke="{colour}" stroke-width="3"/>' + text(x + 30, y, name, colours.text, size=13)


TIME_ASSIGNORS = ("Kafka's default", "jar alone", "jar with service")
TIME_WARM_UPS = (2, 4, 16)
TIME_MOST, TIME_LEFT, TIME_BAR, TIME_LENGTH = 240.0, 92, 16, 268
"""Seconds of the longest bar, and of all bars the left edge, the height and the greatest length."""


@dataclass(frozen=True)
class ScaleOutTimes:
    """Seconds from the join of an instance; infinite if longer than the longest run."""

    even: float
    restored: float


def prepare_in_time() -> Draw:
    """Read the study `in-time`, and return the function that draws it."""
    (table,) = read_study("in-time").tables
    rows = [dict(zip(table.columns, map(str, cells), strict=True)) for cells in table.rows]
    times = {
        (row["machine"], int(row["warm-ups"]), row["assignor"]): ScaleOutTimes(
            _read_seconds(row["even after, s"]), _read_seconds(row["restored after, s"])
        )
        for row in rows
        if row["event"] == "scale-out" and row["state"] == "large"
    }
    return partial(draw_in_time, times)


def _read_seconds(cell: str) -> float:
    return float("inf") if cell.startswith(">") else float(cell)


def draw_in_time(times: Mapping[tuple[str, int, str], ScaleOutTimes], colours: Colours) -> str:
    """Draw two panels, for a quiet and a busy machine, with a bar for each assignor and number of warm-ups."""
    of_assignor = dict(zip(TIME_ASSIGNORS, (colours.theirs, colours.ours, colours.other), strict=True))
    title = "Seconds until a third instance has its share: 24 tasks, two million offsets, a real broker"
    parts = [text(18, 26, title, colours.text, size=15, weight=600)]
    for place, (assignor, colour) in enumerate(of_assignor.items()):
        x = 18 + 180 * place
        parts.append(f'<rect x="{x}" y="41" width="14" height="14" rx="2" fill="{colour}"/>')
        parts.append(text(x + 22, 53, assignor.replace("jar", "optassign's jar"), colours.text, size=13))
    bottom = 100
    for panel, machine in enumerate(("quiet", "busy")):
        left, y = TIME_LEFT + 430 * panel, 106
        name = "quiet machine" if machine == "quiet" else "next to four busy loops"
        parts.append(text(left, 88, name, colours.text, size=13, weight=600))
        for warm_ups in TIME_WARM_UPS:
            parts.append(text(left - 10, y + TIME_BAR + 12, f"{warm_ups} warm-ups", colours.faint, anchor="end"))
            for assignor, colour in of_assignor.items():
                found = times.get((machine, warm_ups, assignor))
                none = [text(left, y + TIME_BAR - 4, "not measured", colours.faint, size=11)]
                parts += none if found is None else _draw_time_bar(left, y, found, colour, colours)
                y += TIME_BAR + 3
            y += 14
        bottom = max(bottom, y)
    parts.append(
        text(18, bottom + 8, "until active tasks are even (full colour), and until all copies are restored", colours.faint)
    )
    return svg(WIDTH, bottom + 24, parts)


def _draw_time_bar(left: int, y: int, times: ScaleOutTimes, colour: str, colours: Colours) -> list[str]:
    restored, even = (TIME_LENGTH * min(seconds, TIME_MOST) / TIME_MOST for seconds in (times.restored, times.even))
    shown = f"> {TIME_MOST:.0f}" if times.restored > TIME_MOST else f"{times.restored:.0f}"
    return [
        f'<rect x="{left}" y="{y}" width="{restored:.1f}" height="{TIME_BAR}" rx="2" fill="{colour}" opacity="0.45"/>',
        f'<rect x="{left}" y="{y}" width="{even:.1f}" height="{TIME_BAR}" rx="2" fill="{colour}"/>',
        text(left + restored + 7, y + TIME_BAR - 4, shown, colours.text, weight=600),
    ]


DAY_ASSIGNORS = {"cp-sat": "optassign", "kafka-high-availability": "Kafka's default", "sticky": "Kafka's sticky assignor"}
"""Name → its label."""
DAY_TOLD = {"join": "6 join", "crash": "a crash", "rolling-restart": "12 restart", "zone-fails": "a zone is lost for an hour"}
"""Event → its label."""
DAY_WIDTH, DAY_HEIGHT, DAY_LEFT, DAY_RIGHT, DAY_TOP, DAY_BOTTOM = 880, 448, 58, 862, 106, 246
DAY_STEP = 2_000
"""The distance of grid lines, as imbalance."""


def prepare_day() -> Draw:
    """Simulate the day under the three assignors, and return the function that draws it."""
    scenario = read_scenario("day")
    return partial(draw_day, [simulate(scenario, name) for name in DAY_ASSIGNORS])


def draw_day(runs: Sequence[SimulatedRun], colours: Colours) -> str:
    """Draw imbalance over the day, and bars with three totals of each assignor."""
    of_run = (colours.ours, colours.theirs, colours.other)
    title = "A day of 1,000 tasks on 60 instances, one standby each, 20 warm-ups at a time: simulated"
    parts = [text(18, 26, title, colours.text, size=15, weight=600)]
    for place, (played, colour) in enumerate(zip(runs, of_run, strict=True)):
        x = 18 + 250 * place
        parts.append(f'<path d="M{x} 45h22" stroke="{colour}" stroke-width="3"/>')
        parts.append(text(x + 30, 50, DAY_ASSIGNORS[played.assignor], colours.text, size=13))
    parts += _draw_balance(runs, of_run, colours)
    figures = (
        ("task-minutes not processed", [played.measures.down_task_s / 60 for played in runs], "{:,.0f}"),
        ("hours out of balance", [played.measures.unbalanced_s / 3600 for played in runs], "{:.1f}"),
        ("task-hours without a standby", [played.measures.without_standby_task_s / 3600 for played in runs], "{:,.0f}"),
    )
    for place, (name, values, form) in enumerate(figures):
        parts += _draw_bars(18 + place * 288, name, values, of_run, colours, form)
    return svg(DAY_WIDTH, DAY_HEIGHT, parts)


def _draw_balance(runs: Sequence[SimulatedRun], of_run: Sequence[str], colours: Colours) -> list[str]:
    """Return the imbalance over the hours, with labels of events above."""
    scenario = runs[0].scenario
    hours = scenario.duration_s / 3600
    curves = [[(point.at / 3600, point.active_imbalance) for point in played.measures.curve] for played in runs]
    top = DAY_STEP * -(-max(value for curve in curves for _, value in curve) // DAY_STEP)

    def x(hour: float) -> float:
        return DAY_LEFT + (DAY_RIGHT - DAY_LEFT) * hour / hours

    def y(value: float) -> float:
        return DAY_BOTTOM - (DAY_BOTTOM - DAY_TOP) * value / top

    parts = [text(18, DAY_TOP - 30, "imbalance of active tasks", colours.text, size=13, weight=600)]
    for value in range(0, top + 1, DAY_STEP):
        parts.append(f'<path d="M{DAY_LEFT} {y(value):.1f}H{DAY_RIGHT}" stroke="{colours.grid}" stroke-width="1"/>')
        parts.append(text(DAY_LEFT - 8, y(value) + 4, f"{value:,}", colours.faint, anchor="end"))
    for hour in range(0, int(hours) + 1, 4):
        parts.append(text(x(hour), DAY_BOTTOM + 18, f"{hour} h", colours.faint, anchor="middle"))
    for event in scenario.events:
        at = x(event.at / 3600)
        dashed = f'stroke="{colours.faint}" stroke-width="1" stroke-dasharray="2 3"'
        parts.append(f'<path d="M{at:.1f} {DAY_TOP - 6}V{DAY_BOTTOM}" {dashed}/>')
        parts.append(text(at, DAY_TOP - 10, DAY_TOLD[event.do], colours.faint, size=11, anchor="middle"))
    for curve, colour in reversed(list(zip(curves, of_run, strict=True))):
        path, last = [f"{x(curve[0][0]):.1f},{y(curve[0][1]):.1f}"], curve[0][1]
        for hour, value in curve[1:]:
            if value != last:
                path += [f"{x(hour):.1f},{y(last):.1f}", f"{x(hour):.1f},{y(value):.1f}"]
                last = value
        path.append(f"{x(hours):.1f},{y(last):.1f}")
        parts.append(f'<polyline points="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return parts


def _draw_bars(left: int, name: str, values: Sequence[float], of_run: Sequence[str], colours: Colours, form: str) -> list[str]:
    """Return a bar for each run, with its figure at the end."""
    parts = [text(left, DAY_BOTTOM + 66, name, colours.text, size=13, weight=600)]
    for place, (value, colour) in enumerate(zip(values, of_run, strict=True)):
        y, long = DAY_BOTTOM + 84 + 38 * place, 190 * value / max(values)
        parts.append(f'<rect x="{left}" y="{y}" width="{max(long, 2):.1f}" height="26" rx="3" fill="{colour}"/>')
        parts.append(text(left + long + 8, y + 18, form.format(value), colours.text, size=14, weight=600))
    return parts


FRONT_WIDTH, FRONT_HEIGHT = 640, 360
FRONT_LEFT, FRONT_RIGHT, FRONT_TOP, FRONT_BOTTOM = 62, 600, 58, 300
FRONT_MOST = 24
"""Copies per thread at the top of the picture."""


@dataclass(frozen=True)
class DrawnPlan:
    """A plan: restore work as a share of the first plan's, and copies per thread, most − least."""

    stickiness: float
    work: float
    apart: float

    @property
    def place(self) -> tuple[float, float]:
        """Return the position in the picture."""
        height = (FRONT_BOTTOM - FRONT_TOP) * self.apart / FRONT_MOST
        return FRONT_LEFT + self.work * (FRONT_RIGHT - FRONT_LEFT), FRONT_BOTTOM - height


def prepare_weights() -> Draw:
    """Read the study `weights`, and return the function that draws it."""
    (table,) = read_study("weights").tables
    fronts: dict[str, list[DrawnPlan]] = {}
    for cells in table.rows:
        row = dict(zip(table.columns, map(str, cells), strict=True))
        tasks, clients = row["tasks × clients"].split(" × ")
        plan = DrawnPlan(
            stickiness=float(row["stickiness"]),
            work=float(row["of the first row"].removesuffix("%")) / 100,
            apart=float(row["copies per thread, most − least"]),
        )
        fronts.setdefault(f"{tasks} tasks on {clients} instances", []).append(plan)
    return partial(draw_fronts, fronts)


def draw_fronts(fronts: Mapping[str, Sequence[DrawnPlan]], colours: Colours) -> str:
    """Draw a line for each size; the larger one shows the stickiness of its points."""
    parts = [text(FRONT_LEFT - 40, 24, "Restore work against imbalance, by stickiness", colours.text, size=15, weight=600)]
    for share in range(0, 101, 25):
        x = FRONT_LEFT + share / 100 * (FRONT_RIGHT - FRONT_LEFT)
        parts.append(f'<line x1="{x}" y1="{FRONT_TOP}" x2="{x}" y2="{FRONT_BOTTOM}" stroke="{colours.grid}"/>')
        parts.append(text(x, FRONT_BOTTOM + 18, f"{share}%", colours.faint, anchor="middle"))
    for apart in range(0, FRONT_MOST + 1, 6):
        y = FRONT_BOTTOM - apart / FRONT_MOST * (FRONT_BOTTOM - FRONT_TOP)
        parts.append(text(FRONT_LEFT - 10, y + 4, str(apart), colours.faint, anchor="end"))
    parts.append(text(FRONT_LEFT, FRONT_TOP - 12, "copies per thread, most − least", colours.faint))
    parts.append(
        text(FRONT_RIGHT, FRONT_BOTTOM + 40, "offsets to restore, of those with stickiness 0.1", colours.faint, anchor="end")
    )
    for (name, points), colour, row in zip(fronts.items(), (colours.other, colours.ours), (0, 1), strict=True):
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point.place for point in points))
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(text(FRONT_RIGHT, FRONT_TOP + 16 + 18 * row, name, colour, anchor="end", weight=600))
        for point in points:
            x, y = point.place
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')
            if row and point.stickiness >= 10:
                above = 10 if point is points[-1] else 2  # the last two points are close together
                parts.append(text(x + 8, y - above, f"{point.stickiness:,.0f}", colours.text))
    return svg(FRONT_WIDTH, FRONT_HEIGHT, parts)


PICTURES: Mapping[str, Callable[[], Draw]] = {
    "in-time": prepare_in_time,
    "scale-out": prepare_scale_out,
    "join": prepare_join,
    "day": prepare_day,
    "weights": prepare_weights,
}


def main() -> None:
    """Draw the pictures that the command line names, in both schemes, and print their paths."""
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or PICTURES:
        draw = PICTURES[name]()
        for scheme, colours in SCHEMES.items():
            path = FOLDER / f"{name}-{scheme}.svg"
            path.write_text(draw(colours), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
