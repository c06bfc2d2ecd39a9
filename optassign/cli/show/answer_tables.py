"""Tables of an answer (each client's copies, the goals, the follow-up), of broken rules, and of recordings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from optassign.cli.output import NARROW
from optassign.cli.show.style import MOST_ROWS, format_rules, make_headline, make_table, mark_wrong, wrap_lines
from optassign.formats.assignment import GoalReport, TaskAssignment
from optassign.formats.state import ApplicationState, KafkaStreamsState
from optassign.judging.explanation_text import format_minutes, outlook_to_lines, pluralize, remark_on_input, waiting_to_lines
from optassign.judging.metrics import Measures, measure
from optassign.judging.validation import Violation
from optassign.measuring.balance import Share, compute_shares, count_copies
from optassign.measuring.client_names import ClientNames
from optassign.measuring.load import Loads, allowed_load, balances_load
from optassign.measuring.outlook import estimate_outlook
from optassign.measuring.placement import TaskPlacement, previous_assignment, standbys_per_task
from optassign.measuring.ranks import Ranks
from optassign.printable import escape_unprintable
from optassign.recordings.recording import NotApplied, Recording, RecordingHead, Summary

FULL_NAMES = 116
"""Least width, less that of clients' other names, at which whole process ids are shown."""
NAME_LENGTHS = (8, 28)
"""Least and most characters of these other names. Longer names show only their end, in which instances differ."""
_WIDEST_ID = 60
"""Characters of a recording's id that are not wrapped, so that it can be copied: a terminal has 80 columns."""


def render_assignment(state: ApplicationState, answer: TaskAssignment, width: int) -> Iterator[RenderableType]:
    """Render `optassign assign`: each client's counts, the goals, the copies that the follow-up awaits."""
    measures = measure(state, answer)
    yield make_headline(
        f"{answer.assignor}: {pluralize(len(state.tasks), 'task')} on {pluralize(len(state.clients), 'client')}",
        *_list_verdicts(measures, is_load=balances_load(state)),
    )
    table, marked = _make_client_table(state, answer, width)
    yield table
    if marked:
        yield Text("! outside its share" if not balances_load(state) else "! more load than is balanced", style="dim")
    yield _summarise(state, answer, measures)
    if answer.report.goals:
        yield Text("")
        yield _make_goal_table(answer.report.goals, width)
    yield from wrap_lines(_describe_report(state, answer), width)


def _list_verdicts(measures: Measures, *, is_load: bool) -> Iterator[tuple[str, bool]]:
    if measures.violations:
        yield f"breaks {format_rules(measures.violations)}!", False
    how = f"load {measures.weighted_load:.3f}" if is_load else f"imbalance {sum(measures.imbalance.values()):,}"
    yield ("balanced", True) if measures.balanced else (f"not balanced yet: {how}", False)


def _make_client_table(state: ApplicationState, answer: TaskAssignment, width: int) -> tuple[Table, bool]:
    """Return the table, and whether a cell in it is marked."""
    rows = _ClientRows(state, answer, width)
    table = make_table("client")
    for name in rows.columns:
        table.add_column(name, justify="right", no_wrap=True)
    urgent = sorted(state.clients, key=rows.urgency)
    shown = {client.process_id for client in urgent[:MOST_ROWS]}
    marked = False
    for client in state.clients:
        if client.process_id in shown:
            cells = rows.cells(client)
            marked |= any(isinstance(cell, Text) for cell in cells)
            table.add_row(*cells)
    if len(urgent) > len(shown):
        table.caption = f"and {pluralize(len(urgent) - len(shown), 'client')} more, with less change; --json has all"
    return table, marked


class _ClientRows:
    """The rows of the table of clients: previous and new copies, and shares."""

    def __init__(self, state: ApplicationState, answer: TaskAssignment, width: int) -> None:
        self._wide = width >= NARROW
        ids = [client.process_id for client in state.clients]
        # The name gets the width that other columns, the beginning of a process id, a space and brackets leave.
        suffixes = _list_short_names(state, width - (78 if self._wide else 60) - 11)
        room = width - max(map(len, suffixes.values()))
        shown = dict(zip(ids, ids, strict=True)) if room >= FULL_NAMES else _shorten(ids)
        self._names = {process_id: escape_unprintable(name + suffixes[process_id]) for process_id, name in shown.items()}
        self._answer = answer.by_process_id
        self._shares, self._now, self._before = compute_shares(state), count_copies(state, answer), _CountsBefore(state)
        self._restored = _count_restored_offsets(state, answer)
        self._loads = Loads(state) if balances_load(state) else None
        self._load = {} if self._loads is None else self._loads.measure(TaskPlacement.of(state, answer))
        self._allowed = 0.0 if self._loads is None else allowed_load(state, answer, self._loads)
        share = "share" if self._loads is None else "load"
        copies = () if not self._wide else ("copies", "share") if self._loads is None else ("copies",)
        self.columns = ("threads", "active", share, "standby", *copies, "warm-ups", "restores")

    def urgency(self, client: KafkaStreamsState) -> tuple[bool, int, str]:
        """Return a sort key: clients outside their shares come first, then the greatest changes."""
        name = client.process_id
        active, standby, copies, warmups = self._count_copies(name)
        if self._loads is not None:
            outside = self._load[name] > self._allowed
        else:
            outside = _is_outside(active, self._shares.active[name]) or _is_outside(copies, self._shares.copies[name])
        was_standby = self._before.standby.get(name)
        change = abs(active - self._before.active[name]) + warmups
        return not outside, -change - (0 if was_standby is None else abs(standby - was_standby)), name

    def cells(self, client: KafkaStreamsState) -> list[str | Text]:
        """Return the name, then a cell for each of `columns`."""
        name = client.process_id
        active, standby, copies, warmups = self._count_copies(name)
        within_active, within_copies = self._shares.active[name], self._shares.copies[name]
        cells: list[str | Text] = [
            self._names[name] + (" (draining)" if client.draining else ""),
            f"{client.threads:,}" + (f" × {client.capacity:g}" if client.capacity != 1.0 else ""),
            mark_wrong(
                _format_change(self._before.active[name], active), self._loads is None and _is_outside(active, within_active)
            ),
            self._format_share(name, within_active),
            _format_change(self._before.standby.get(name), standby),
        ]
        if self._wide and self._loads is not None:
            cells.append(f"{copies:,}")
        elif self._wide:
            cells += [mark_wrong(f"{copies:,}", _is_outside(copies, within_copies)), _format_bounds(within_copies)]
        restored = self._restored[name]
        return [*cells, f"{warmups:,}" if warmups else "", f"{restored:,}" if restored else ""]

    def _format_share(self, name: str, within: Share) -> str | Text:
        """Return the share or, if load is balanced, the load."""
        if self._loads is None:
            return _format_bounds(within)
        return mark_wrong(f"{self._load[name]:.3f}", self._load[name] > self._allowed)

    def _count_copies(self, name: str) -> tuple[int, int, int, int]:
        """Return the client's active tasks, standbys, copies of logged tasks, and warm-ups."""
        assigned = self._answer.get(name)
        standby, warmups = (len(assigned.standby), len(assigned.warmup)) if assigned else (0, 0)
        return self._now.active.get(name, 0), standby, self._now.copies.get(name, 0), warmups


class _CountsBefore:
    """The previous copies of each client; `standby` is empty if the previous standbys are unknown."""

    def __init__(self, state: ApplicationState) -> None:
        previous = previous_assignment(state)
        self.active = Counter(previous.active.values())
        self.standby: Mapping[str, int] = {}
        if previous.standby is not None:
            held = Counter(client for clients in previous.standby.values() for client in clients)
            self.standby = {client.process_id: held[client.process_id] for client in state.clients}


def _count_restored_offsets(state: ApplicationState, answer: TaskAssignment) -> Counter[str]:
    """Return client → offsets that the client has to replay for its copies and warm-ups."""
    ranked, placement, offsets = Ranks(state), TaskPlacement.of(state, answer), Counter[str]()
    for task in state.tasks:
        if task.logged:
            for client in (*placement.copies(task.id), *placement.warmup[task.id]):
                offsets[client] += ranked.restore_cost(task.id, client)
    return offsets


def _summarise(state: ApplicationState, answer: TaskAssignment, measures: Measures) -> Text:
    parts = [
        f"{pluralize(measures.active_moves, 'active task')} of {len(state.tasks):,} moved",
        f"{pluralize(measures.standby_migrations, 'standby')} moved" if standbys_per_task(state) else "no standbys",
        f"{measures.restore_work + measures.warmup_work:,} offsets to restore now",
    ]
    if measures.actives_not_caught_up:
        parts.append(f"{pluralize(measures.actives_not_caught_up, 'active task')} not caught up")
    return Text("; ".join(parts))


def _make_goal_table(goals: Sequence[GoalReport], width: int) -> Table:
    table = make_table("stage", "goal")
    for name in ("value", "bound", *(("gap",) if width >= NARROW else ()), "proven"):
        table.add_column(name, justify="right", no_wrap=True)
    stage = ""
    for goal in goals:
        cells = [
            "" if goal.stage == stage else _STAGES.get(goal.stage, goal.stage),
            _GOALS.get(goal.name, goal.name.replace("_", " ")),
            _format_number(goal.value),
            _format_number(goal.bound),
        ]
        if width >= NARROW:
            cells.append("–" if goal.gap is None else f"{goal.gap:.1%}" if goal.gap else "0")
        table.add_row(*cells, "yes" if goal.proven else "no")
        stage = goal.stage
    return table


def _describe_report(state: ApplicationState, answer: TaskAssignment) -> Iterator[str]:
    report = answer.report
    if report.found_by:
        proved = f", proved by {report.proved_by}" if report.proved_by else ""
        limit = "" if report.termination.limit == "none" else f", limit: {report.termination.limit}"
        yield f"found by {report.found_by}{proved}; {report.termination.reason}{limit}; {sum(report.seconds.values()):.3f} s"
    if report.termination.detail:
        yield f"  {report.termination.detail}"
    label = ClientNames(state).label
    yield from remark_on_input(state)
    yield from (f"note: {note}" for note in report.notes)
    asks = [client for client in answer.clients if client.followup_rebalance_ms is not None]
    if asks:
        yield f"follow-up after {(asks[0].followup_rebalance_ms or 0) / 1000:g} s, requested by {label(asks[0].process_id)}"
        yield from outlook_to_lines(estimate_outlook(state, answer))
    elif not report.stalled:
        yield "no follow-up"
    if report.stalled:
        yield "stalled: no copy makes progress"
    yield from waiting_to_lines(report.waiting, label)


def render_violations(answer: TaskAssignment, violations: Sequence[Violation]) -> Iterator[RenderableType]:
    """Render `optassign validate`: each violation in a line, or that every rule is kept."""
    if not violations:
        yield Text(f"{answer.assignor}: keeps every rule", style="green")
        return
    yield Text(f"{answer.assignor}: breaks {format_rules(Counter(v.rule for v in violations))}", style="bold red")
    for violation in violations[: 4 * MOST_ROWS]:
        yield Text(f"  {violation}")
    if len(violations) > 4 * MOST_ROWS:
        yield Text(f"  and {len(violations) - 4 * MOST_ROWS:,} more; --json has all")


def _list_short_names(state: ApplicationState, room: int) -> dict[str, str]:
    """Return process id → its suffix in the table: the client's name in brackets, or empty."""
    least, most = NAME_LENGTHS
    names, found, longest = ClientNames(state), {}, min(max(room, least), most)
    for process_id in state.kafka_streams_states:
        name = names.short(process_id) or ""
        end = name if len(name) <= longest else f"…{name[1 - longest :]}"
        found[process_id] = f" ({end})" if name else ""
    return found


def _shorten(names: Sequence[str]) -> dict[str, str]:
    """Return name → its beginning, long enough to distinguish all of them."""
    length = 8
    while len({name[:length] for name in names}) < len(names):
        length += 1
    return {name: name[:length] for name in names}


def _is_outside(count: int, share: Share) -> bool:
    return not share.low <= count <= share.high


def _format_change(before: int | None, after: int) -> str:
    return f"{after:,}" if before is None or before == after else f"{before:,} → {after:,}"


def _format_bounds(share: Share) -> str:
    return f"{share.low:,}" if share.low == share.high else f"{share.low:,}–{share.high:,}"


def _format_number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


_GOALS = {
    "copies_not_caught_up": "copies not caught up",
    "actives_not_caught_up": "actives not caught up",
    "active_migrations": "active task migrations",
    "standby_migrations": "standby migrations",
    "copies_on_target": "copies on target",
    "restore_work_off_target": "restore work off target",
    "actives_on_target": "actives on target",
    "active_moves": "active task migrations",
    "active_imbalance": "imbalance of actives",
}
_STAGES = {"plan": "target"}


def render_recordings(rows: Sequence[tuple[str, RecordingHead]]) -> Iterator[RenderableType]:
    """Render `optassign record ls`, a line for each recording. `rows`: id, which has application and time (UTC), and head."""
    if not rows:
        yield Text("no recordings")
        return
    table = make_table()
    longest = max(len(name) for name, _ in rows)
    table.add_column("id: application/day/time (UTC)", overflow="fold", min_width=min(_WIDEST_ID, longest))
    table.add_column("tasks\n× clients", justify="right", no_wrap=True)
    table.add_column("what was done", overflow="fold")
    for name, head in rows:
        summary = head.summary
        table.add_row(name, f"{summary.tasks:,} × {summary.clients:,}", _describe_answer(head))
    yield table


def render_recording(recording: Recording, width: int) -> Iterator[RenderableType]:
    """Render `optassign record show`: time and application, then the applied answer like `optassign assign`."""
    versions = f"plug-in {recording.plugin or '–'}, service {recording.service}"
    about = [recording.mode, f"memory: {recording.memory}", versions]
    yield make_headline(f"{recording.application or 'no application'} at {recording.recorded_at}")
    yield Text("; ".join(about) + ("" if recording.in_time else "; sent after its deadline, so it is not remembered"))
    yield Text(_describe_origin(recording))
    if recording.not_applied is not None:
        yield _compare(recording, recording.not_applied)
    yield from render_assignment(recording.snapshot, recording.assignment, width)


def _describe_origin(head: RecordingHead) -> str:
    """Return a sentence that says whether the answer was applied, with the evidence."""
    if head.reported:
        why = f": {head.why}" if head.why else ""
        return f"the plug-in reported that {head.assignor} was applied, and not the service's assignment{why}"
    if head.applied:
        return "the service's assignment; the plug-in reported no other"
    return "the service's assignment, which was not applied; the applied one is not recorded"


def _compare(head: RecordingHead, not_applied: NotApplied) -> Table:
    """Return a table of the summaries of both answers, applied and not applied, and their differences."""
    applied, other = head.summary, not_applied.summary
    table = make_table("")
    names = [f"{head.assignor} (applied)", f"{not_applied.assignor} (not applied)", "saved"]
    for name in names:
        table.add_column(name, justify="right")
    rows: list[tuple[str, int | None, int | None]] = [
        ("active tasks moved", applied.moved_active, other.moved_active),
        ("offsets to restore", applied.restored, other.restored),
        ("warm-ups", applied.warmups, other.warmups),
    ]
    for what, then, instead in rows:
        saved = None if then is None or instead is None else then - instead
        table.add_row(what, *("–" if number is None else f"{number:,}" for number in (then, instead, saved)))
    return table


def _describe_answer(head: RecordingHead) -> str:
    parts = list(_describe_summary(head.summary))
    if head.mode == "shadow":
        parts.insert(0, "shadow")
    if head.reported:
        parts.insert(0, f"by {head.assignor}")
        if head.not_applied is not None:
            instead = ", ".join(_describe_summary(head.not_applied.summary))
            parts.append(f"not by {head.not_applied.assignor} ({instead})")
    elif head.summary.why_greedy:
        parts.append("by greedy")
    if not head.in_time:
        parts.append("too late")
    return ", ".join(parts)


def _describe_summary(summary: Summary) -> Iterator[str]:
    yield f"{pluralize(summary.moved_active, 'active task')} moved" if summary.moved_active else "nothing moved"
    if summary.warmups:
        yield pluralize(summary.warmups, "warm-up")
    if summary.followup_ms is not None:
        more = ""
        if summary.followups is not None and summary.followups > 1:
            time = "" if summary.plan_ms is None else f" in {format_minutes(summary.plan_ms)}"
            more = f", about {summary.followups:,} in all{time}"
        yield f"follow-up in {summary.followup_ms / 1000:g} s{more}"
    if summary.stalled:
        yield "stalled"
