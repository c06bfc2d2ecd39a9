"""`python docs/site/day_picture.py`: draw the day of the README anew (scenario `day`, under three assignors); needs a JDK.

Above, how far the group is out of balance over the day; below, what its users felt of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from drawing import Colours, svg, text, write_all

from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import Played, simulate

ASSIGNORS = {"cp-sat": "optassign", "kafka-high-availability": "Kafka's default", "sticky": "Kafka's sticky assignor"}
"""Name → as it is told."""
TOLD = {"join": "6 join", "crash": "a crash", "rolling-restart": "12 restart", "zone-fails": "a zone is lost for an hour"}
"""What happens → in words."""
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 880, 448, 58, 862, 106, 246
STEP = 2_000
"""Between two lines of the grid."""


def main() -> None:
    """Play the day three times, and draw."""
    scenario = read_scenario("day")
    write_all({"day": partial(draw_day, [simulate(scenario, name) for name in ASSIGNORS])})


def draw_day(runs: Sequence[Played], colours: Colours) -> str:
    """The whole picture."""
    of_run = (colours.ours, colours.theirs, colours.other)
    title = "A day of 1,000 tasks on 60 instances, one standby each, 20 warm-ups at a time: simulated"
    parts = [text(18, 26, title, colours.text, size=15, weight=600)]
    for place, (played, colour) in enumerate(zip(runs, of_run, strict=True)):
        x = 18 + 250 * place
        parts.append(f'<path d="M{x} 45h22" stroke="{colour}" stroke-width="3"/>')
        parts.append(text(x + 30, 50, ASSIGNORS[played.assignor], colours.text, size=13))
    parts += _draw_balance(runs, of_run, colours)
    figures = (
        ("task-minutes not processed", [played.felt.down_task_s / 60 for played in runs], "{:,.0f}"),
        ("hours out of balance", [played.felt.unbalanced_s / 3600 for played in runs], "{:.1f}"),
        ("task-hours without a standby", [played.felt.without_standby_task_s / 3600 for played in runs], "{:,.0f}"),
    )
    for place, (name, values, form) in enumerate(figures):
        parts += _draw_bars(18 + place * 288, name, values, of_run, colours, form)
    return svg(WIDTH, HEIGHT, parts, "day_picture.py")


def _draw_balance(runs: Sequence[Played], of_run: Sequence[str], colours: Colours) -> list[str]:
    """Imbalance over the hours, with what happens above."""
    scenario = runs[0].scenario
    hours = scenario.duration_s / 3600
    curves = [[(point.at / 3600, point.active_imbalance) for point in played.felt.curve] for played in runs]
    top = STEP * -(-max(value for curve in curves for _, value in curve) // STEP)

    def x(hour: float) -> float:
        return LEFT + (RIGHT - LEFT) * hour / hours

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * value / top

    parts = [text(18, TOP - 30, "imbalance of active tasks", colours.text, size=13, weight=600)]
    for value in range(0, top + 1, STEP):
        parts.append(f'<path d="M{LEFT} {y(value):.1f}H{RIGHT}" stroke="{colours.grid}" stroke-width="1"/>')
        parts.append(text(LEFT - 8, y(value) + 4, f"{value:,}", colours.faint, anchor="end"))
    for hour in range(0, int(hours) + 1, 4):
        parts.append(text(x(hour), BOTTOM + 18, f"{hour} h", colours.faint, anchor="middle"))
    for event in scenario.events:
        at = x(event.at / 3600)
        dashed = f'stroke="{colours.faint}" stroke-width="1" stroke-dasharray="2 3"'
        parts.append(f'<path d="M{at:.1f} {TOP - 6}V{BOTTOM}" {dashed}/>')
        parts.append(text(at, TOP - 10, TOLD[event.do], colours.faint, size=11, anchor="middle"))
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
    """A bar for each run, with its figure at the end."""
    parts = [text(left, BOTTOM + 66, name, colours.text, size=13, weight=600)]
    for place, (value, colour) in enumerate(zip(values, of_run, strict=True)):
        y, long = BOTTOM + 84 + 38 * place, 190 * value / max(values)
        parts.append(f'<rect x="{left}" y="{y}" width="{max(long, 2):.1f}" height="26" rx="3" fill="{colour}"/>')
        parts.append(text(left + long + 8, y + 18, form.format(value), colours.text, size=14, weight=600))
    return parts


if __name__ == "__main__":
    main()
