"""`python docs/site/pictures.py`: draw the pictures of README and site anew, from what the assignors answer today.

scale-out: optassign and Kafka's default, simulated (scenario `thousand`). join: who has what, rebalance by rebalance, as a
client joins. The day is drawn by day_picture.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from drawing import Colours, svg, text, write_all

import optassign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.reading import read_state
from optassign.simulation.successors import make_restored_snapshot
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import Played, simulate

SCENARIO, HOURS = "thousand", 14
"""The scale-out of the study `thousand`, and the hours of it that are shown from the join on."""
DEMO = Path(__file__).resolve().parents[2] / "tests/data/kafka-4.3.1/third-instance-joins.json"
"""The snapshot of `make demo`."""

WIDTH, HEIGHT = 880, 386
LEFT, TOP, BOTTOM, PANEL, GAP = 58, 118, 332, 340, 96


@dataclass(frozen=True)
class Line:
    """One assignor in one panel: hours and values, and what is written at its end."""

    values: Sequence[tuple[float, float]]
    end: str
    colour: str


def main() -> None:
    """Play both convergences, and draw."""
    scenario = read_scenario(SCENARIO)
    ours, theirs = simulate(scenario, "cp-sat"), simulate(scenario, "high-availability")
    answers = _answers(DEMO)
    write_all({"scale-out": lambda colours: scale_out(ours, theirs, colours), "join": lambda colours: join(answers, colours)})


def _answers(snapshot: Path) -> list[TaskAssignment]:
    """The answers of cp-sat until it asks for no follow-up."""
    state = read_state(snapshot)
    answers = [optassign.assign(state)]
    while any(client.followup_rebalance_ms is not None for client in answers[-1].clients):
        state = make_restored_snapshot(state, answers[-1])
        answers.append(optassign.assign(state))
    return answers


def join(answers: Sequence[TaskAssignment], colours: Colours) -> str:
    """For each rebalance three bars, one a client, of its active tasks, standbys and warm-ups."""
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


def scale_out(ours: Played, theirs: Played, colours: Colours) -> str:
    """Two panels over the hours since the join: the imbalance of active tasks, and the active tasks moved so far."""
    join = ours.scenario.events[0].at
    title = "1,000 tasks, 25 instances join 75, 20 warm-ups at a time, a copy takes a minute: simulated"
    parts = [
        text(LEFT - 40, 26, title, colours.text, size=15, weight=600),
        _key(LEFT - 40, 46, f"optassign (cp-sat): {_describe(ours)}", colours.ours, colours),
        _key(LEFT - 40, 66, f"Kafka's default (high-availability): {_describe(theirs)}", colours.theirs, colours),
    ]
    imbalance = [
        [((point.at - join) / 3600, float(point.active_imbalance)) for point in played.felt.curve if point.at >= join]
        for played in (ours, theirs)
    ]
    moved = [_sum_moves(played, join) for played in (ours, theirs)]
    lines = (
        ("imbalance of active tasks", 1_000, imbalance, ("", "")),
        ("active tasks moved, in all", 2_000, moved, tuple(f"{played.felt.moves:,}" for played in (ours, theirs))),
    )
    for place, (name, step, values, ends) in enumerate(lines):
        both = [Line(_cut(values[1]), ends[1], colours.theirs), Line(_cut(values[0]), ends[0], colours.ours)]
        parts += _panel(place, name, HOURS, step, both, colours, "{:,.0f}")
    return svg(WIDTH, HEIGHT, parts)


def _sum_moves(played: Played, since: float) -> list[tuple[float, float]]:
    events = [event for event in played.events if event["event"] == "rebalance" and event["at"] >= since]
    times = [(event["at"] - since) / 3600 for event in events]
    return [(0.0, 0.0), *zip(times, accumulate(float(len(event["moved"])) for event in events), strict=True)]


def _cut(values: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Steps, up to the last hour that is shown."""
    shown = [point for point in values if point[0] <= HOURS]
    stepped = [shown[0]]
    for hour, value in shown[1:]:
        if value != stepped[-1][1]:
            stepped += [(hour, stepped[-1][1]), (hour, value)]
    return [*stepped, (float(HOURS), stepped[-1][1])]


def _describe(played: Played) -> str:
    hours = played.felt.unbalanced_s / 3600
    took = f"{hours * 60:.0f} minutes" if hours < 2 else f"{hours:.1f} hours"
    return f"balanced after {took}, {played.felt.moves:,} active tasks moved, {played.felt.rebalances} rebalances"


def _panel(place: int, title: str, last: int, step: float, lines: Sequence[Line], colours: Colours, form: str) -> list[str]:
    """Axes, grid and lines; `step`: between two lines of the grid."""
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


if __name__ == "__main__":
    main()
