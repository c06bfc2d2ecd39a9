"""Simulated runs side by side: a row for each figure, a column for each assignor."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import make_headline, make_table
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import FIGURES, Played, summarise

__all__ = ["format_runs_markdown", "render_runs"]


def render_runs(scenario: Scenario, runs: Sequence[Played], width: int) -> Iterator[RenderableType]:
    """What `optassign simulate` shows."""
    yield make_headline(f"{scenario.name}, {scenario.duration_s / 3600:g} h, seed {scenario.seed}")
    if scenario.about:
        yield Text(scenario.about)
    table = make_table("")
    for played in runs:
        table.add_column(played.assignor, justify="right", overflow="fold")
    for row in _list_rows(runs):
        table.add_row(*row)
    yield table


def format_runs_markdown(runs: Sequence[Played]) -> str:
    """The figures as a Markdown table."""
    lines = [["", *(played.assignor for played in runs)], ["---", *("---:" for _ in runs)], *_list_rows(runs)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _list_rows(runs: Sequence[Played]) -> Iterator[list[str]]:
    figures = [summarise(played) for played in runs]
    return ([figure.label, *(_format(each[name]) for each in figures)] for name, figure in FIGURES.items())


def _format(value: float | int | None) -> str:
    if value is None:
        return "never"
    return f"{value:,.1f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"
