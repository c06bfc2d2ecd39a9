"""Explanations as lines of text, for the command line.

`label` turns a process id into what the reader knows the client by (`ClientNames.label`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from optassign.formats.assignment import Waiting
from optassign.judging.explanation import (
    Candidate,
    ClientExplanation,
    Detour,
    Explanation,
    LoadChange,
    Role,
    RoleChange,
    StateChange,
    TaskExplanation,
    WindowCount,
)
from optassign.judging.reasons_text import REASONS, name_window, reason_to_text, show_range
from optassign.measuring.outlook import Outlook, RestoreRates

__all__ = [
    "answer_to_lines",
    "client_to_lines",
    "format_minutes",
    "outlook_to_lines",
    "outlook_to_text",
    "pluralize",
    "rates_to_text",
    "shorten_list",
    "task_to_lines",
    "waiting_to_lines",
]

Label = Callable[[str], str]
_SHOWN = 10
_ROLES: dict[Role, str] = {"active": "active", "standby": "standby", "warmup": "warm-up"}


def task_to_lines(e: TaskExplanation, label: Label = str) -> Iterator[str]:
    """The lines that say why the copies of a task are where they are."""
    yield f"task {e.task} ({e.kind})"
    yield from (f"  {line}" for line in _active_to_lines(e, label))
    yield from (f"  {line}" for line in waiting_to_lines(e.waiting, label))
    yield "  clients, most caught up first:" if e.kind == "logged" else "  clients:"
    for candidate in e.candidates:
        yield f"    {label(candidate.process_id)}: {'; '.join(_describe_candidate(e, candidate, label))}"
    if e.others:
        lag = f": nothing of it, {e.others_cost:,} offsets to replay" if e.kind == "logged" else ""
        yield f"    and {pluralize(e.others, 'other')}{lag}"


def _active_to_lines(e: TaskExplanation, label: Label) -> Iterator[str]:
    now = [c for c in e.candidates if c.now == "active"]
    plan = [c for c in e.candidates if c.planned == "active"]
    before = [c for c in e.candidates if c.before == "active"]
    if len(now) != 1:
        yield f"active on {len(now)} clients, which breaks R1"
        return
    here = now[0]
    if not before:
        yield f"active: goes to {label(here.process_id)}"
    elif before[0] is here:
        yield f"active: stays on {label(here.process_id)}"
    else:
        yield f"active: moves from {label(before[0].process_id)} to {label(here.process_id)}"
    if len(e.owners) > 1:
        yield f"{len(e.owners)} clients list it as active before: {shorten_list([*map(label, e.owners)])}"
    if e.why_moved is not None:
        yield f"why: {reason_to_text(e.why_moved, e.window)}"
    allowed = sum(c.may_be_active for c in e.candidates) + (e.others if e.others_may_be_active else 0)
    if e.kind != "logged":
        yield "it has no changelog: nothing to restore, so any client may run it"
    elif here.rank:
        yield f"no client is caught up; R3 leaves those that lag least: {pluralize(allowed, 'client')}"
    elif allowed == 1:
        yield "it is the only client that is caught up, so R3 leaves no other"
    else:
        yield f"R3 leaves {pluralize(allowed, 'client')} that are caught up"
    if plan and plan[0] is not here and (e.detour is None or not e.detour.is_relief):
        yield f"the plan wants it on {label(plan[0].process_id)}, once that is caught up: {_describe_lag(plan[0])}"
    if e.detour is not None:
        why = "to relieve others on the way to balance" if e.detour.is_relief else "so that it runs meanwhile"
        yield f"by way of a third client, {why}: {_describe_detour(e.detour, label)}"


def _describe_detour(detour: Detour, label: Label) -> str:
    """Why an active task is neither where it was nor where the plan wants it."""
    if detour.is_relief:
        others = "" if detour.from_client in (None, detour.to_client) else f"{label(detour.from_client or '')} and "
        return f"for as long as {others}{label(detour.to_client)}, where it is planned, would have too many active tasks"
    wait = f"{detour.offsets:,} offsets to replay" if detour.offsets else "not its turn yet"
    planned = f"{label(detour.to_client)}, where it is planned, has {wait}"
    if detour.from_client is None:
        return f"{'nobody has it' if detour.why is None else REASONS[detour.why]}, and {planned}"
    why = "" if detour.why is None else f" ({REASONS[detour.why]})"
    return f"{label(detour.from_client)} gives it up{why}, and {planned}"


def _describe_candidate(e: TaskExplanation, c: Candidate, label: Label) -> Iterator[str]:
    if c.now is not None or c.before is not None:
        was, has = c.before and _ROLES[c.before], c.now and _ROLES[c.now]
        yield f"{has}" if was == has else f"{was or 'nothing'} → {has or 'nothing'}"
    if c.planned != c.now and c.planned is not None:
        yield f"planned: {_ROLES[c.planned]}"
    if e.kind == "logged":
        yield _describe_lag(c) + ("" if c.may_be_active else ", so R3 keeps the active copy away")
    if c.binds and c.may_be_active:
        yield f"active here: {_describe_binding_windows(c, label)}"
    elif c.may_be_active and c.load_with_it is not None:
        yield f"active here would load it to {c.load_with_it:.3f} even spreads"
    elif c.may_be_active and c.planned != "active" and c.now != "active":
        yield "active here would do for rules and windows"


def _describe_lag(c: Candidate) -> str:
    if c.rank == 0:
        return "caught up" + (f" (lag {c.lag:,})" if c.lag else "")
    return f"{c.cost:,} offsets to replay" if c.cost else "lag not known"


def _describe_binding_windows(c: Candidate, label: Label) -> str:
    """Who would have too many or too few: `too many here (active tasks 4 of 4 and 2 more)`."""
    by_client: dict[str, list[str]] = {}
    for count in c.binds:
        by_client.setdefault(count.process_id, []).append(f"{name_window(count)} {count.planned} of {show_range(count)}")
    return " and ".join(
        f"{'too many here' if client == c.process_id else f'too few on {label(client)}'} ({shorten_list(counts, 2)})"
        for client, counts in by_client.items()
    )


def client_to_lines(e: ClientExplanation, label: Label = str) -> Iterator[str]:
    """The lines that say what a client gains and loses."""
    capacity = "" if e.capacity == 1.0 else f" of capacity {e.capacity:g}"
    about = [*e.names, pluralize(e.threads, "thread") + capacity, *(["about to leave"] if e.draining else [])]
    yield f"client {e.process_id} ({', '.join(about)})"
    for change in e.roles:
        if change.kept or change.gained or change.lost:
            on_disk = change.role == "standby" and not e.standbys_known
            yield f"  {_ROLES[change.role]}: {_describe_change(change)}{' (before: what its disk lists)' if on_disk else ''}"
    quiet = 0
    for count in e.windows:
        outside = not count.low <= count.planned <= count.high
        if count.subtopology is None or outside or count.before != count.planned or count.after != count.planned:
            where = ", outside it" if outside else ""
            yield f"  {name_window(count)}: {_describe_counts(count)}, window {show_range(count)}{where}"
        else:
            quiet += 1
    if quiet:
        yield f"  {pluralize(quiet, 'count')} per subtopology as before, in their windows"
    if e.load is not None:
        over = ", more than is balanced" if e.load.planned > e.load.allowed else ""
        yield f"  load: {_describe_load(e.load)}{over}"
    if e.state is not None:
        yield f"  state: {_describe_state(e.state)}"
    if e.restores:
        copies = [f"{c.task} ({_ROLES[c.role]}, {c.offsets:,})" for c in e.restores]
        yield f"  restores {sum(c.offsets for c in e.restores):,} offsets: {shorten_list(copies)}"
    yield from (f"  {line}" for line in waiting_to_lines(e.waiting, label))


def _describe_change(change: RoleChange) -> str:
    parts = [f"{len(change.kept):,} kept"]
    parts += [f"gains {shorten_list(change.gained)}"] if change.gained else []
    parts += [f"loses {shorten_list(change.lost)}"] if change.lost else []
    return "; ".join(parts)


def _describe_counts(count: WindowCount) -> str:
    planned = f" → {count.planned} planned" if count.planned != count.after else ""
    return f"{count.before} → {count.after}{planned}"


def _describe_load(load: LoadChange) -> str:
    planned = f" → {load.planned:.3f} planned" if load.planned != load.after else ""
    return f"{load.before:.3f} → {load.after:.3f}{planned}, where up to {load.allowed:.3f} even spreads are balanced"


def _describe_state(state: StateChange) -> str:
    of_warmups = f" ({state.of_warmups:,} of warm-ups)" if state.of_warmups else ""
    planned = f" → {state.planned:,} planned" if state.planned != state.after else ""
    allowed = "" if state.allowed is None else f", allowed {state.allowed:,}"
    return f"{state.before:,} → {state.after:,}{of_warmups}{planned} offsets, where {state.even:,} are even{allowed}"


def answer_to_lines(e: Explanation, label: Label = str, moves: bool = True) -> Iterator[str]:
    """The lines that say what an answer changes, why, and what its follow-up waits for. `moves`: whether single ones too."""
    gone = f" ({e.gone:,} because it has gone)" if e.gone else ""
    yield f"active tasks: {len(e.moves):,} move, {e.stay:,} stay, {e.new:,} had no client{gone}"
    for why, number in Counter(move.why for move in e.moves).most_common():
        yield f"  {number:,}: {REASONS[why]}"
        chosen = [move for move in e.moves if move.why == why and moves]
        yield from (f"    {move.task}: {label(move.from_client)} → {label(move.to_client)}" for move in chosen[:_SHOWN])
        if len(chosen) > _SHOWN:
            yield f"    and {number - _SHOWN:,} more"
    for is_relief, purpose in ((False, "so that they run meanwhile"), (True, "to relieve others on the way to balance")):
        detours = [detour for detour in e.detours if detour.is_relief == is_relief]
        if detours:
            yield f"by way of a third client, {purpose}: {pluralize(len(detours), 'active task')}"
        for detour in detours[:_SHOWN]:
            yield f"  {detour.task} on {label(detour.by_way_of)}: {_describe_detour(detour, label)}"
        if len(detours) > _SHOWN:
            yield f"  and {len(detours) - _SHOWN:,} more"
    if e.nobody_caught_up:
        yield f"nobody is caught up on {pluralize(len(e.nobody_caught_up), 'task')}, so the least lag decides (R3):"
        yield f"  {shorten_list(e.nobody_caught_up)}"
    total = sum(copy.offsets for copy in e.restores)
    roles = Counter(copy.role for copy in e.restores)
    shown = ", ".join(f"{number:,} {_ROLES[role]}" for role, number in sorted(roles.items()))
    yield f"restored now: {total:,} offsets" + (f" ({shown})" if shown else "")
    if e.planned_work != total:
        yield f"restored until the plan is reached: {e.planned_work:,} offsets"
    if e.load is not None:
        yield f"{'balanced' if e.balanced else 'not balanced yet'}: greatest load {_describe_load(e.load)}"
    else:
        yield "balanced" if not e.excess_now else f"not balanced yet: excess {e.excess_now:,}"
    if e.fullest is not None:
        yield f"most state: {label(e.fullest[0])}: {_describe_state(e.fullest[1])}"
    if e.load is None and e.excess_planned:
        yield f"not balanced in the plan either: excess {e.excess_planned:,}"
    if e.followup_by is not None:
        yield f"follow-up after {(e.followup_ms or 0) / 1000:g} s, asked for by {label(e.followup_by)}"
        yield from outlook_to_lines(e.outlook)
    elif e.stalled:
        yield "stalled: no warm-up makes progress, so no follow-up is asked for"
    else:
        yield "no follow-up: everything is where it shall be"
    yield from waiting_to_lines(e.waiting, label)
    yield from (f"note: {note}" for note in e.notes)


def outlook_to_text(outlook: Outlook) -> str:
    """How far the plan is away: `about 20 follow-ups, 200 minutes (3.3 hours)`."""
    most = "at most " if outlook.is_at_most else ""
    return f"about {pluralize(outlook.followups, 'follow-up')}, {most}{format_minutes(outlook.ms)}"


def outlook_to_lines(outlook: Outlook | None) -> Iterator[str]:
    """The lines that say how far the plan is away, and which settings make it so."""
    if outlook is not None:
        yield f"{outlook_to_text(outlook)} until the plan is reached" + (":" if outlook.copies else "")
        if outlook.copies:
            copies = f"{outlook.copies:,} {'copy' if outlook.copies == 1 else 'copies'} to warm up"
            every = f"every {format_minutes(outlook.interval_ms)} (probing.rebalance.interval.ms)"
            if outlook.is_by_rates:
                every = "by the rates at which clients have restored"
            elif outlook.is_at_most:
                every = f"{every} until rates are known"
            yield f"  {copies}, {outlook.slots:,} at a time (max.warmup.replicas), {every}"
            yield from _advice_to_lines(outlook)
        if outlook.rates is not None:
            yield f"  {rates_to_text(outlook.rates)}"


def _advice_to_lines(outlook: Outlook) -> Iterator[str]:
    if outlook.more_slots:
        each = [f"{format_minutes(each.ms)} ({each.slots:,})" for each in outlook.more_slots]
        yield f"  with more at a time it would take about {', '.join(each)}; more than that saves little"
    elif outlook.is_by_rates and outlook.copies > outlook.slots:
        yield "  more at a time would save little: the slowest disk takes as long"


def rates_to_text(rates: RestoreRates) -> str:
    """How fast clients have restored: `clients have restored 1,000 offsets a second (1 known)`."""
    many = (
        f"{rates.least:,} to {rates.most:,}, in the median {rates.median:,}"
        if rates.least < rates.most
        else f"{rates.median:,}"
    )
    return f"clients have restored {many} offsets a second ({rates.clients:,} known)"


def format_minutes(ms: int) -> str:
    """A span of time: `1.5 minutes`, `2,000 minutes (33.3 hours)`."""
    minutes = ms / 60_000
    number = f"{minutes:,.0f}" if minutes >= 10 else f"{minutes:.2g}"
    hours = f" ({minutes / 60:,.1f} hours)" if minutes >= 120 else ""
    return f"{number} minute{'' if number == '1' else 's'}{hours}"


def waiting_to_lines(waiting: Sequence[Waiting], label: Label = str, shown: int = _SHOWN) -> Iterator[str]:
    """The lines that say what the follow-up waits for; at most `shown` copies are named."""
    if waiting:
        copies = "1 copy" if len(waiting) == 1 else f"{len(waiting):,} copies"
        yield f"waits for {copies}, {sum(entry.slot for entry in waiting):,} being restored now:"
    for entry in waiting[:shown]:
        lag = "lag not known" if entry.lag is None else f"{entry.lag:,} offsets to go"
        turn = "being restored" if entry.slot else "waits for its turn"
        yield f"  {entry.task} {_ROLES[entry.role]} on {label(entry.process_id)}: {lag}, {turn}"
    if len(waiting) > shown:
        yield f"  and {len(waiting) - shown:,} more"


def pluralize(number: int, noun: str) -> str:
    """A number with its noun: `1 task`, `2 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten_list(items: Sequence[str], shown: int = _SHOWN) -> str:
    """The first `shown` items, and how many more there are."""
    return ", ".join(items[:shown]) + (f" and {len(items) - shown:,} more" if len(items) > shown else "")
