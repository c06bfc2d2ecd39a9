"""`python docs/site/pictures.py`: draw the pictures of README and site anew, from what the assignors answer today.

scale-out: optassign and Kafka's default, played to the end. join: who has what, rebalance by rebalance, as a client joins.

Each picture is written twice into docs/pictures, for light and dark pages. SVG, drawn by hand, so that it is small, sharp and
the same in every run; texts stay texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import optassign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.reading import read_state
from optassign.generate import generate
from optassign.simulation.convergence import Convergence, converge
from optassign.simulation.successors import make_restored_snapshot

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
TASKS, CLIENTS, STANDBYS, WARMUPS, SEED = 1_000, 100, 1, 20, 1
"""The scale-out of the tables in docs/benchmarks.md."""
DEMO = Path(__file__).resolve().parents[2] / "tests/data/kafka-4.3.1/third-instance-joins.json"
"""The snapshot of `make demo`."""

WIDTH, HEIGHT = 880, 386
LEFT, TOP, BOTTOM, PANEL, GAP = 58, 118, 332, 340, 96
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Colours:
    """Of one scheme."""

    text: str
    faint: str
    grid: str
    ours: str
    theirs: str
    paper: str
    """Of texts on the colours of lines and bars."""


SCHEMES = {
    "light": Colours(text="#1f2328", faint="#59636e", grid="#d1d9e0", ours="#00796b", theirs="#bc4c00", paper="#ffffff"),
    "dark": Colours(text="#e6edf3", faint="#9198a1", grid="#3d444d", ours="#4dd0b5", theirs="#f0883e", paper="#0d1117"),
}


@dataclass(frozen=True)
class Line:
    """One assignor in one panel: a value after every rebalance, and what is written at its end."""

    values: Sequence[float]
    end: str
    colour: str


def main() -> None:
    """Play both convergences, and draw."""
    state = generate("scale-out", tasks=TASKS, clients=CLIENTS, standbys=STANDBYS, warmups=WARMUPS, seed=SEED)
    ours, theirs = converge(state, "cp-sat"), converge(state, "high-availability")
    FOLDER.mkdir(exist_ok=True)
    answers = _answers(DEMO)
    for scheme, colours in SCHEMES.items():
        for name, drawn in (("scale-out", scale_out(ours, theirs, colours)), ("join", join(answers, colours))):
            path = FOLDER / f"{name}-{scheme}.svg"
            path.write_text(drawn, encoding="utf-8")
            print(path)


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
    parts = [_text(18, 26, "A third client joins: who has what after each rebalance", colours.text, size=15, weight=600)]
    roles = (("active", colours.ours), ("standby", colours.grid), ("warmup", colours.theirs))
    for place, (role, colour) in enumerate(roles):
        x = 18 + 120 * place
        parts.append(f'<rect x="{x}" y="41" width="14" height="14" rx="2" fill="{colour}"/>')
        parts.append(_text(x + 22, 53, "warm-up" if role == "warmup" else role, colours.text, size=13))
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
                        _text(x + bar / 2, y + number * unit / 2 + 4, str(number), ink, anchor="middle", size=11, weight=600)
                    )
            letter = "new" if process_id == new else "AB"[place]
            parts.append(_text(x + bar / 2, base + 18, letter, colours.faint, anchor="middle"))
        parts.append(_text(left + 1.5 * bar + 8, base + 42, f"rebalance {n + 1}", colours.text, anchor="middle"))
    return _svg(width, height, parts)


def scale_out(ours: Convergence, theirs: Convergence, colours: Colours) -> str:
    """Two panels: active tasks moved and offsets restored, both summed over the rebalances."""
    least = ours.lower_bound
    assert least, "a scale-out has something to restore"
    moved = [[0, *accumulate(step.measures.active_moves for step in played.history)] for played in (ours, theirs)]
    restored = [
        [0.0, *(offsets / least for offsets in accumulate(step.restored_offsets for step in played.history))]
        for played in (ours, theirs)
    ]
    last = max(ours.rebalances, theirs.rebalances)
    parts = [
        _text(
            LEFT - 40,
            26,
            f"{TASKS:,} tasks on {CLIENTS} clients, a quarter of them new, {WARMUPS} warm-ups at a time, until all is at rest",
            colours.text,
            size=15,
            weight=600,
        ),
        _key(LEFT - 40, 46, f"optassign (cp-sat): {_describe(ours)}", colours.ours, colours),
        _key(LEFT - 40, 66, f"Kafka's default (high-availability): {_describe(theirs)}", colours.theirs, colours),
        *_panel(
            0,
            "active tasks moved, in all",
            last,
            4_000,
            [
                Line(moved[1], f"{moved[1][-1]:,}", colours.theirs),
                Line(moved[0], f"{moved[0][-1]:,}", colours.ours),
            ],
            colours,
            "{:,.0f}",
        ),
        *_panel(
            1,
            "offsets restored, in all, ÷ the proven minimum",
            last,
            4,
            [
                Line(restored[1], f"{restored[1][-1]:.1f} ×", colours.theirs),
                Line(restored[0], f"{restored[0][-1]:.2f} ×", colours.ours),
            ],
            colours,
            "{:.0f} ×",
        ),
    ]
    return _svg(WIDTH, HEIGHT, parts)


def _describe(played: Convergence) -> str:
    hours = (played.rebalances - 1) * AssignmentConfigs().probing_rebalance_interval_ms / 3_600_000
    return f"{played.rebalances} rebalances, {hours:.1f} hours; {played.moved_more_than_once:,} tasks moved more than once"


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">'
    return "\n".join([head, "<!-- Made by: python docs/site/pictures.py -->", *parts, "</svg>", ""])


def _panel(place: int, title: str, last: int, step: float, lines: Sequence[Line], colours: Colours, form: str) -> list[str]:
    """Axes, grid and lines; `step`: between two lines of the grid."""
    left = LEFT + place * (PANEL + GAP)
    right = left + PANEL
    greatest = max(max(line.values) for line in lines)
    top = step * -(-greatest // step)

    def x(rebalance: float) -> float:
        return left + PANEL * rebalance / last

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / top

    parts = [_text(left - 40, TOP - 18, title, colours.text, size=13, weight=600)]
    value = 0.0
    while value <= top:
        parts.append(f'<path d="M{left} {y(value):.1f}H{right}" stroke="{colours.grid}" stroke-width="1"/>')
        parts.append(_text(left - 8, y(value) + 4, form.format(value), colours.faint, anchor="end"))
        value += step
    for rebalance in range(0, last + 1, 20):
        parts.append(_text(x(rebalance), BOTTOM + 20, str(rebalance), colours.faint, anchor="middle"))
    parts.append(_text((left + right) / 2, BOTTOM + 40, "rebalances", colours.faint, anchor="middle"))
    for line in lines:
        points = " ".join(f"{x(n):.1f},{y(value):.1f}" for n, value in enumerate(line.values))
        at_x, at_y = x(len(line.values) - 1), y(line.values[-1])
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2.5" stroke-linejoin="round"/>'
        )
        parts.append(f'<circle cx="{at_x:.1f}" cy="{at_y:.1f}" r="4.5" fill="{line.colour}"/>')
        near_right = at_x > right - 60
        parts.append(
            _text(
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


def _key(x: float, y: float, text: str, colour: str, colours: Colours) -> str:
    return f'<path d="M{x} {y - 5}h22" stroke="{colour}" stroke-width="3"/>' + _text(x + 30, y, text, colours.text, size=13)


def _text(x: float, y: float, text: str, colour: str, *, size: int = 12, weight: int = 400, anchor: str = "start") -> str:
    look = f'font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{text}</text>'


if __name__ == "__main__":
    main()
