"""Simulated runs and graded suites side by side: a row for each figure, a column for each assignor."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import format_rules, make_headline, make_table
from optassign.simulation.histories.grades import GROUPS, Column
from optassign.simulation.histories.playing import Graded
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import FIGURES, Played, summarise
from optassign_models.policy.display import MOST_SEEDS

__all__ = ["format_grades_markdown", "format_runs_markdown", "render_grades", "render_runs"]


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
    return ([figure.label, *(_format_figure(each[name]) for each in figures)] for name, figure in FIGURES.items())


def _format_figure(value: float | int | None) -> str:
    if value is None:
        return "never"
    return f"{value:,.1f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"


def render_grades(title: str, graded: Sequence[Graded], ours: Sequence[str]) -> Iterator[RenderableType]:
    """Render `optassign simulate --suite`; an asterisk stands at the best of a row."""
    yield make_headline(title)
    for group, rows in _list_groups(graded):
        table = make_table(group)
        for each in graded:
            table.add_column(each.assignor, justify="right", overflow="fold")
        for label, cells in rows:
            table.add_row(label, *(Text(f"{text}*", style="green") if best else text for text, best in cells))
        yield table
        yield Text("")
    yield from (Text(line) for line in _list_remarks(graded, ours))


def format_grades_markdown(graded: Sequence[Graded], ours: Sequence[str]) -> str:
    """One table, the best of each row in bold, and remarks below."""
    lines = [["", *(each.assignor for each in graded)], ["---", *("---:" for _ in graded)]]
    for _, rows in _list_groups(graded):
        lines += [[label, *(f"**{text}**" if best else text for text, best in cells)] for label, cells in rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    remarks = "\n".join(f"- {line}" for line in _list_remarks(graded, ours))
    return f"{table}\n\n{remarks}\n"


def _list_groups(graded: Sequence[Graded]) -> Iterator[tuple[str, list[tuple[str, list[tuple[str, bool]]]]]]:
    """Title, and rows of a label and (text, whether none is better) for each assignor."""
    totals = [each.total for each in graded]
    for title, columns in GROUPS.items():
        rows = []
        for column in columns:
            values = [column.compute(total) for total in totals]
            texts = [_format_grade(column, value) for value in values]
            known = [value for value in values if value is not None]
            if not known:
                continue
            best = _format_grade(column, max(known) if column.best == "most" else min(known))
            rows.append((column.label, [(text, bool(column.best) and text == best) for text in texts]))
        yield title, rows


def _format_grade(column: Column, value: float | None) -> str:
    if value is None:
        return ""
    if column.is_share:
        return f"{100 * value:.2f} %"
    return f"{value:,.0f}" if not column.per or value >= 10_000 else f"{value:,.3f}"


def _list_remarks(graded: Sequence[Graded], ours: Sequence[str]) -> Iterator[str]:
    for each in graded:
        total = each.total
        if total.violations:
            yield f"{each.assignor} broke {format_rules(total.violations)} in {total.answers:,} answers"
        if each.assignor in ours and each.wrong:
            more = "" if len(each.wrong) <= MOST_SEEDS else f" and {len(each.wrong) - MOST_SEEDS:,} more"
            seeds = ", ".join(map(str, each.wrong[:MOST_SEEDS]))
            yield f"{each.assignor} broke a rule or did not converge with the seeds {seeds}{more}"
    if any(each.assignor not in ours and each.wrong for each in graded):
        yield "baselines do not promise R3 to R8: a rule that they break is shown, and is no error"
