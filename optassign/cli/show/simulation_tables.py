"""Tables of simulations: runs and graded suites side by side, the rebalances of a convergence, the effects of a change."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.output import NARROW
from optassign.cli.show.style import MOST_ROWS, NO_END, format_rules, make_headline, make_table, mark_wrong, wrap_lines
from optassign.formats.durations import format_duration
from optassign.formats.state import ApplicationState
from optassign.judging.convergences import PlayedRebalance
from optassign.judging.explanation_text import format_minutes, pluralize, remark_on_input, waiting_to_lines
from optassign.measuring.client_names import ClientNames
from optassign.service.views.what_if import Outcome, WhatIfView
from optassign.simulation.convergence import Convergence
from optassign.simulation.history_grades import GROUPS, GradeColumn
from optassign.simulation.history_playing import Graded
from optassign.simulation.timed.effects import EventEffect, measure_effects
from optassign.simulation.timed.replications import CONFIDENCE, METHOD, Interval
from optassign.simulation.timed.scenario import Scenario
from optassign.simulation.timed.simulator import FIGURES, SimulatedRun, summarise

_EVENT_COLUMNS = 26
"""Width of the column of events and assignors. The longest name of an assignor fits, and the whole table has 80 columns."""

MOST_SEEDS = 20
"""Seeds that a table of grades names: a line stays readable."""
LISTED_MOVES = 20
"""Moves that a table of `what-if` lists: longer tables are not read."""


def render_runs(scenario: Scenario, runs: Sequence[SimulatedRun], width: int) -> Iterator[RenderableType]:
    """Render `optassign simulate`."""
    yield make_headline(f"{scenario.name}, {scenario.duration_s / 3600:g} h, seed {scenario.seed}")
    if scenario.about:
        yield Text(scenario.about)
    table = make_table("")
    for played in runs:
        table.add_column(played.assignor, justify="right", overflow="fold")
    for row in _list_rows(runs):
        table.add_row(*row)
    yield table
    effects = {played.assignor: measure_effects(played) for played in runs}
    if any(effects.values()):
        yield _render_effects(effects)


def _render_effects(effects: Mapping[str, Sequence[EventEffect]]) -> RenderableType:
    """Return the table of figures from each event to the next: below each event, a row for each assignor."""
    table = make_table()
    table.add_column("after event", overflow="fold", max_width=_EVENT_COLUMNS)
    for name in ("down", "unbalanced", "stable", "moved", "passes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.caption = "until the next event; down: task-seconds; unbalanced: seconds; stable: seconds from the event"
    for columns in zip(*effects.values(), strict=True):
        table.add_row(f"{format_duration(columns[0].at_s)} {columns[0].event}")
        for assignor, effect in zip(effects, columns, strict=True):
            unbalanced = NO_END if effect.unbalanced_s is None else _format_figure(effect.unbalanced_s)
            counts = (f"{effect.moves:,}", f"{effect.rebalances:,}")
            down, stable = map(_format_figure, (effect.down_task_s, effect.stable_after_s))
            table.add_row(f"  {assignor}", down, unbalanced, stable, *counts)
    return table


def render_replications(
    scenario: Scenario, number: int, estimates: Mapping[str, Mapping[str, Interval]], width: int
) -> Iterator[RenderableType]:
    """Render `optassign simulate --replications`: the median of each figure, and its interval below."""
    seeds = f"seeds {scenario.seed:,} to {scenario.seed + number - 1:,}"
    yield make_headline(f"{scenario.name}, {scenario.duration_s / 3600:g} h, {seeds}")
    if scenario.about:
        yield Text(scenario.about)
    table = make_table("median")
    for name in estimates:
        table.add_column(name, justify="right", overflow="fold")
    for name, figure in FIGURES.items():
        table.add_row(figure.label, *(_format_figure(each[name].median) for each in estimates.values()))
        intervals = [f"{_format_figure(each[name].low)} – {_format_figure(each[name].high)}" for each in estimates.values()]
        table.add_row("", *(Text(interval, style="dim") for interval in intervals))
    yield table
    interval = f"below each median: its {CONFIDENCE:.0%} confidence interval over {number:,} runs, by {METHOD}"
    yield from wrap_lines([interval], width)


def format_runs_markdown(runs: Sequence[SimulatedRun]) -> str:
    """Return the figures as a Markdown table."""
    lines = [["", *(played.assignor for played in runs)], ["---", *("---:" for _ in runs)], *_list_rows(runs)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _list_rows(runs: Sequence[SimulatedRun]) -> Iterator[list[str]]:
    figures = [summarise(played) for played in runs]
    return ([figure.label, *(_format_figure(each[name]) for each in figures)] for name, figure in FIGURES.items())


def _format_figure(value: float | int | None) -> str:
    if value is None:
        return "never"
    return f"{value:,.1f}" if isinstance(value, float) and value < 1000 else f"{value:,.0f}"


def render_grades(title: str, graded: Sequence[Graded], promising: Sequence[str]) -> Iterator[RenderableType]:
    """Render `optassign simulate --suite`, with an asterisk at the best of a row. `promising`: assignors that promise the
    rules.
    """
    yield make_headline(title)
    for group, rows in _list_groups(graded):
        table = make_table(group)
        for each in graded:
            table.add_column(each.assignor, justify="right", overflow="fold")
        for label, cells in rows:
            table.add_row(label, *(Text(f"{text}*", style="green") if best else text for text, best in cells))
        yield table
        yield Text("")
    yield from (Text(line) for line in _list_remarks(graded, promising))


def format_grades_markdown(graded: Sequence[Graded], promising: Sequence[str]) -> str:
    """Return one table, with the best of each row in bold, and remarks below."""
    lines = [["", *(each.assignor for each in graded)], ["---", *("---:" for _ in graded)]]
    for _, rows in _list_groups(graded):
        lines += [[label, *(f"**{text}**" if best else text for text, best in cells)] for label, cells in rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    remarks = "\n".join(f"- {line}" for line in _list_remarks(graded, promising))
    return f"{table}\n\n{remarks}\n"


def _list_groups(graded: Sequence[Graded]) -> Iterator[tuple[str, list[tuple[str, list[tuple[str, bool]]]]]]:
    """Yield the title, and rows of a label and (text, whether it is the best) for each assignor."""
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


def _format_grade(column: GradeColumn, value: float | None) -> str:
    if value is None:
        return ""
    if column.is_share:
        return f"{100 * value:.2f} %"
    return f"{value:,.0f}" if not column.per or value >= 10_000 else f"{value:,.3f}"


def _list_remarks(graded: Sequence[Graded], promising: Sequence[str]) -> Iterator[str]:
    for each in graded:
        total = each.total
        if total.violations:
            yield f"{each.assignor} broke {format_rules(total.violations)} in {total.answers:,} answers"
        if each.assignor in promising and each.wrong:
            more = "" if len(each.wrong) <= MOST_SEEDS else f" and {len(each.wrong) - MOST_SEEDS:,} more"
            seeds = ", ".join(map(str, each.wrong[:MOST_SEEDS]))
            yield f"{each.assignor} broke a rule or did not converge with the seeds {seeds}{more}"
    if any(each.assignor not in promising and each.wrong for each in graded):
        yield "baselines do not promise R3 to R8: a rule that they break is shown, and is no error"


def render_convergence(state: ApplicationState, result: Convergence, assignor: str, width: int) -> Iterator[RenderableType]:
    """Render `optassign converge`: each rebalance, and the result."""
    verdicts = [("converged", True) if result.settled else ("did not converge", False)]
    if result.settled:
        verdicts.append(("stable", True) if result.rests else ("not stable: asked again, it assigns otherwise", False))
    if result.violations:
        verdicts.append((f"breaks {format_rules(result.violations)}", False))
    yield make_headline(f"{assignor}: {pluralize(result.rebalances, 'rebalance')}", *verdicts)
    wide = width >= NARROW
    table = make_table()
    for name in (
        "#",
        "moved",
        "again",
        "restored",
        "warm-ups",
        "waits for",
        "imbalance",
        *(("of actives", "seconds") if wide else ()),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for number, played in enumerate(result.history, start=1):
        if MOST_ROWS // 2 < number <= len(result.history) - MOST_ROWS // 2:
            if number == MOST_ROWS // 2 + 1:
                table.add_row(*["…"] * len(table.columns))
        else:
            table.add_row(*_list_cells(number, played, wide))
    yield table
    if any(played.measures.violations for played in result.history):
        yield Text("! breaks a rule", style="dim")
    yield from wrap_lines([_describe_moves(result)], width)
    against = ""
    if result.lower_bound is not None:
        # A convergence that was cut short has not restored everything: a ratio would mean nothing.
        has_ratio = result.lower_bound > 0 and result.settled
        ratio = f", {result.restored_offsets / result.lower_bound:.2f} times that" if has_ratio else ""
        against = f"; proven minimum {result.lower_bound:,}{ratio}"
    yield Text(f"{result.restored_offsets:,} offsets restored{against}")
    yield from wrap_lines(_describe_time(state, result), width)
    yield from wrap_lines(remark_on_input(state), width)
    yield from wrap_lines(waiting_to_lines(result.history[-1].waiting, ClientNames(state).label), width)


def _describe_time(state: ApplicationState, result: Convergence) -> Iterator[str]:
    """Yield the number of follow-ups, their time, and the settings that determine both; nothing without follow-ups."""
    followups, interval = result.rebalances - 1, state.configs.probing_rebalance_interval_ms
    if followups:
        settings = f"max.warmup.replicas {state.configs.max_warmup_replicas}, probing.rebalance.interval.ms {interval}"
        most = "at most " if state.options.followup == "estimate" else ""  # sooner, once copies have restored
        yield f"{pluralize(followups, 'follow-up')}, {most}{format_minutes(followups * interval)}, with {settings}"


def _describe_moves(result: Convergence) -> str:
    moves = f"{pluralize(result.moved_active, 'active task migration')}, {result.moved_logged:,} of logged tasks"
    if not result.moves_repeated:
        return f"{moves}; no task migrates more than once"
    repeated = f"{pluralize(result.moves_repeated, 'migration')} beyond the first"
    return f"{moves}; {pluralize(result.moved_more_than_once, 'task')} more than once ({repeated})"


def _list_cells(number: int, played: PlayedRebalance, wide: bool) -> list[str | Text]:
    imbalance = played.measures.imbalance
    active_imbalance = imbalance["active"] + imbalance["stateful_active"] + imbalance["subtopology_active"]
    cells: list[str | Text] = [
        mark_wrong(f"{number}", bool(played.measures.violations)),
        f"{played.measures.active_moves:,}",
        f"{played.moves_repeated:,}",
        f"{played.restored_offsets:,}",
        f"{played.measures.warmups:,}",
        "stalled" if played.stalled else f"{len(played.waiting):,}" if played.followup else "–",
        f"{sum(imbalance.values()):,}",
    ]
    return cells + ([f"{active_imbalance:,}", f"{played.seconds:.3f}"] if wide else [])


_ASSUMED = " *"
"""The mark of a time that rests on an assumed restore rate."""
_FIGURES: tuple[tuple[str, Callable[[Outcome], str]], ...] = (
    ("clients", lambda o: f"{o.clients:,}"),
    ("active task migrations now", lambda o: f"{o.moved_active:,}"),
    ("restored now, offsets", lambda o: f"{o.restored_now:,}"),
    ("restored until the target is reached", lambda o: f"{o.restore_work:,}"),
    ("warm-ups now", lambda o: f"{o.warmups:,}"),
    ("follow-ups until the target is reached", lambda o: "–" if o.followups is None else f"{o.followups:,}"),
    ("time until the target is reached", lambda o: "–" if o.ms is None else f"about {_format_estimate(o.ms, o)}"),
    ("slowest client restores now for", lambda o: _format_estimate(round(1000 * o.restoring_s), o)),
    ("balanced in the end", lambda o: "yes" if o.balanced_in_the_end else "no!"),
    ("load per client, least to most", lambda o: f"{o.load_least:.3g}–{o.load_most:.3g}"),
    ("standbys wanted", lambda o: f"{o.standbys_wanted:,}"),
)


def render_what_if(view: WhatIfView, width: int) -> Iterator[RenderableType]:
    """Render `optassign what-if`. `width` in columns."""
    yield make_headline(f"If {', '.join(view.changes) or 'nothing changed'} ({view.assignor})")
    table = make_table("")
    for name in ("as it is", "changed"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, show in _FIGURES:
        table.add_row(label, show(view.as_it_is), show(view.changed))
    yield table
    timed = [outcome for outcome in (view.as_it_is, view.changed) if outcome.ms is not None or outcome.restoring_s]
    for rate in sorted({outcome.assumed_rate for outcome in timed if outcome.assumed_rate is not None}):
        assumed = f"no restore rate is measured: an instance restores {rate:,} offsets per second"
        yield Text(f"{_ASSUMED.strip()} {assumed}", style="dim")
    yield Text("")
    yield from wrap_lines(view.summary, width)
    if view.moves:
        yield Text("")
        yield Text("Active task migrations now", style="bold")
    moves = (f"  {move.task}: {move.from_client} → {move.to_client}: {move.why}" for move in view.moves[:LISTED_MOVES])
    yield from wrap_lines(moves, width)
    more = len(view.moves) + view.more_moves - LISTED_MOVES
    if more > 0:
        yield Text(f"  and {pluralize(more, 'move')} more (--json lists up to {len(view.moves):,})")


def _format_estimate(ms: int, outcome: Outcome) -> str:
    return f"{format_minutes(ms)}{_ASSUMED if outcome.assumed_rate is not None else ''}"
