"""Explanations as lines of text, for the command line.

`label` turns a process id into the name that the reader knows (`ClientNames.label`).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from optassign.formats.assignment import Waiting
from optassign.formats.state import ApplicationState
from optassign.judging.explanation import (
    Candidate,
    ClientExplanation,
    Detour,
    Explanation,
    LoadChange,
    Role,
    RoleChange,
    ShareCount,
    StateChange,
    TaskExplanation,
    Why,
)
from optassign.judging.validation import name_rule
from optassign.measuring import ASSUMED_RATE
from optassign.measuring.client_names import ClientNames
from optassign.measuring.outlook import Outlook, RestoreRates
from optassign.measuring.placement import clients_by_task, previous_assignment

SHOWN_CLIENTS = 10
"""The most entries of a list in a text; longer lists are cut."""
SHOWN_BOUNDS = 2
"""Violated bounds named per client: a second one shows that the first is not the only one."""
SHOWN_REMARKS = 3
"""The most examples in a remark on the input."""


Label = Callable[[str], str]
_ROLES: dict[Role, str] = {"active": "active", "standby": "standby", "warmup": "warm-up"}
_SHARES = {
    "active": "active tasks",
    "stateful_active": "stateful active tasks",
    "copies": "copies of logged tasks",
    "subtopology_active": "active tasks of subtopology",
    "subtopology_copies": "copies of subtopology",
}
REASONS: dict[Why, str] = {
    "gone": "its client has left the group",
    "draining": "its client drains",
    "lags": f"another client is more caught up: {name_rule('R3')}",
    "planned": "its target client has caught up",
    "load": "its client had more load than is balanced",
    "above its share": "its client was above its share",
    "to one below its share": "another client was below its share",
    "goals": "a goal, or another task that moves, requires it",
}


def task_to_lines(e: TaskExplanation, label: Label = str) -> Iterator[str]:
    """Yield the lines that explain the copies of a task."""
    yield f"task {e.task} ({e.kind})"
    yield from (f"  {line}" for line in _active_to_lines(e, label))
    yield from (f"  {line}" for line in waiting_to_lines(e.waiting, label))
    yield "  clients, most caught up first:" if e.kind == "logged" else "  clients:"
    for candidate in e.candidates:
        yield f"    {label(candidate.process_id)}: {'; '.join(_describe_candidate(e, candidate))}"
        yield from (f"      {line}" for line in _list_consequences(e, candidate, label))
    if e.others:
        lag = f": no state of it, {e.others_cost:,} offsets to restore" if e.kind == "logged" else ""
        yield f"    and {pluralize(e.others, 'other')}{lag}"


def _active_to_lines(e: TaskExplanation, label: Label) -> Iterator[str]:
    now = [c for c in e.candidates if c.now == "active"]
    plan = [c for c in e.candidates if c.planned == "active"]
    before = [c for c in e.candidates if c.before == "active"]
    if len(now) != 1:
        yield f"active on {len(now)} clients, which breaks {name_rule('R1')}"
        return
    here = now[0]
    if not before:
        yield f"active: starts on {label(here.process_id)}"
    elif before[0] is here:
        yield f"active: stays on {label(here.process_id)}"
    else:
        yield f"active: moves from {label(before[0].process_id)} to {label(here.process_id)}"
    if len(e.owners) > 1:
        yield f"{len(e.owners)} clients claim it as their active task: {shorten_list([*map(label, e.owners)])}"
    if e.why_moved is not None:
        yield f"why: {reason_to_text(e.why_moved, e.share)}"
    allowed = sum(c.may_be_active for c in e.candidates) + (e.others if e.others_may_be_active else 0)
    if e.kind != "logged":
        yield "it has no changelog, so no state is restored, and any client may run it"
    elif not here.may_be_active and e.keeps_r3:
        yield f"others have less to restore, but {name_rule('R10')} keeps it here in the second pass"
    elif not here.may_be_active:
        clients = "the client" if allowed == 1 else f"the {allowed:,} clients"
        yield f"this breaks {name_rule('R3')}, which allows {clients} with the least lag"
    elif here.rank:
        clients = "client" if allowed == 1 else f"{allowed:,} clients"
        yield f"no client has caught up; {name_rule('R3')} allows the {clients} with the least lag"
    else:
        yield f"{name_rule('R3')} allows {'this client only' if allowed == 1 else pluralize(allowed, 'client')}"
    if plan and plan[0] is not here and (e.detour is None or not e.detour.is_offload):
        yield f"target: moves to {label(plan[0].process_id)} once that has caught up: {_describe_lag(plan[0])}"
    if e.detour is not None:
        yield f"{'temporary offload' if e.detour.is_offload else 'temporary client'}: {_describe_detour(e.detour, label)}"


def _describe_detour(detour: Detour, label: Label) -> str:
    """Return why an active task is neither on its owner nor on its target client."""
    if detour.is_offload:
        others = "" if detour.from_client in (None, detour.to_client) else f"{label(detour.from_client or '')} and "
        return f"until then {others}its target client {label(detour.to_client)} would have too many active tasks"
    wait = f"{detour.offsets:,} offsets to restore" if detour.offsets else "to wait for its turn"
    target = f"its target client {label(detour.to_client)} has {wait}"
    if detour.from_client is None:
        return f"{'no client had it' if detour.why is None else REASONS[detour.why]}, and {target}"
    why = "" if detour.why is None else f" ({REASONS[detour.why]})"
    return f"it leaves {label(detour.from_client)}{why}, and {target}"


def _describe_candidate(e: TaskExplanation, c: Candidate) -> Iterator[str]:
    if c.now is not None or c.before is not None:
        was, has = c.before and _ROLES[c.before], c.now and _ROLES[c.now]
        yield f"{has}" if was == has else f"{was or 'no copy'} → {has or 'no copy'}"
    if c.planned != c.now and c.planned is not None:
        yield f"target: {_ROLES[c.planned]}"
    if e.kind == "logged":
        yield _describe_lag(c) + ("" if c.may_be_active else f", so {name_rule('R3')} excludes it")


def _describe_lag(c: Candidate) -> str:
    if c.rank == 0:
        return "caught up" + (f" (lag {c.lag:,})" if c.lag else "")
    return f"{c.cost:,} offsets to restore" if c.cost else "lag not known"


def _list_consequences(e: TaskExplanation, c: Candidate, label: Label) -> Iterator[str]:
    """Yield lines on the consequences of keeping or moving the active copy here: an excessive load, the first violated bounds
    and the number of other bounds, or that no rule is broken.

    Yield nothing if R3 excludes the client, or if it is the target client.
    """
    if not c.may_be_active or c.planned == "active":
        return
    move = f"{'keeping' if c.now == 'active' else 'moving'} {e.task} here"
    if c.load_with_it is not None:
        yield f"{move} would load it to {c.load_with_it:.3f} even spreads"
    elif not c.binds and c.now != "active":
        yield f"{move} would break no rule and no share"
    for count in c.binds[:SHOWN_BOUNDS]:
        change, bound = (
            (1, f"upper bound {count.high}") if count.process_id == c.process_id else (-1, f"lower bound {count.low}")
        )
        yield f"{move} would leave {label(count.process_id)} with {_count_tasks(count, change)} ({bound})"
    if len(c.binds) > SHOWN_BOUNDS:
        yield f"and {pluralize(len(c.binds) - SHOWN_BOUNDS, 'more bound')} would be broken"


def _count_tasks(count: ShareCount, change: int) -> str:
    """Return a client's count on target after the change, with its noun: `4 active tasks`."""
    number, name = count.planned + change, name_share(count)
    return f"{number} {name.replace('tasks', 'task', 1).replace('copies', 'copy', 1) if number == 1 else name}"


def client_to_lines(e: ClientExplanation, label: Label = str) -> Iterator[str]:
    """Yield the lines that explain a client's gains and losses."""
    capacity = "" if e.capacity == 1.0 else f" of capacity {e.capacity:g}"
    about = [*e.names, pluralize(e.threads, "thread") + capacity, *(["draining"] if e.draining else [])]
    yield f"client {e.process_id} ({', '.join(about)})"
    for change in e.roles:
        if change.kept or change.gained or change.lost:
            on_disk = change.role == "standby" and not e.standbys_known
            yield f"  {_ROLES[change.role]}: {_describe_change(change)}{' (before: by what is on its disk)' if on_disk else ''}"
    unchanged = 0
    for count in e.shares:
        outside = not count.low <= count.planned <= count.high
        if count.subtopology is None or outside or count.before != count.planned or count.after != count.planned:
            where = ", which it is outside of" if outside else ""
            yield f"  {name_share(count)}: {_describe_counts(count)}, share {show_range(count)}{where}"
        else:
            unchanged += 1
    if unchanged:
        yield f"  {pluralize(unchanged, 'count')} per subtopology as before, within its share"
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


def _describe_counts(count: ShareCount) -> str:
    planned = f" → {count.planned} on target" if count.planned != count.after else ""
    return f"{count.before} → {count.after}{planned}"


def _describe_load(load: LoadChange) -> str:
    planned = f" → {load.planned:.3f} on target" if load.planned != load.after else ""
    return f"{load.before:.3f} → {load.after:.3f}{planned} even spreads; balanced up to {load.allowed:.3f}"


def _describe_state(state: StateChange) -> str:
    of_warmups = f" ({state.of_warmups:,} of warm-ups)" if state.of_warmups else ""
    planned = f" → {state.planned:,} on target" if state.planned != state.after else ""
    allowed = "" if state.allowed is None else f", at most {state.allowed:,} allowed"
    return f"{state.before:,} → {state.after:,}{of_warmups}{planned} offsets; an even share is {state.even:,}{allowed}"


def answer_to_lines(e: Explanation, label: Label = str, moves: bool = True) -> Iterator[str]:
    """Yield the lines that explain an answer's changes and its follow-up. `moves`: whether to list single moves."""
    gone = f" ({e.gone:,} whose client has left)" if e.gone else ""
    yield f"active tasks: {len(e.moves):,} move, {e.stay:,} stay, {e.new:,} had no client{gone}"
    for why, number in Counter(move.why for move in e.moves).most_common():
        yield f"  {number:,}: {REASONS[why]}"
        chosen = [move for move in e.moves if move.why == why and moves]
        yield from (f"    {move.task}: {label(move.from_client)} → {label(move.to_client)}" for move in chosen[:SHOWN_CLIENTS])
        if len(chosen) > SHOWN_CLIENTS:
            yield f"    and {number - SHOWN_CLIENTS:,} more"
    for is_offload, purpose in ((False, "temporary clients"), (True, "temporary offloads")):
        detours = [detour for detour in e.detours if detour.is_offload == is_offload]
        if detours:
            yield f"{purpose}: {pluralize(len(detours), 'active task')}"
        for detour in detours[:SHOWN_CLIENTS]:
            yield f"  {detour.task} on {label(detour.by_way_of)}: {_describe_detour(detour, label)}"
        if len(detours) > SHOWN_CLIENTS:
            yield f"  and {len(detours) - SHOWN_CLIENTS:,} more"
    if e.not_caught_up_anywhere:
        tasks = pluralize(len(e.not_caught_up_anywhere), "task")
        yield f"no client has caught up on {tasks}; by {name_rule('R3')} the least lag decides:"
        yield f"  {shorten_list(e.not_caught_up_anywhere)}"
    total = sum(copy.offsets for copy in e.restores)
    roles = Counter(copy.role for copy in e.restores)
    shown = ", ".join(f"{number:,} {_ROLES[role]}" for role, number in sorted(roles.items()))
    yield f"restored now: {total:,} offsets" + (f" ({shown})" if shown else "")
    if e.planned_work != total:
        yield f"restored until the target is reached: {e.planned_work:,} offsets"
    if e.load is not None:
        yield f"{'balanced' if e.balanced else 'not balanced yet'}: greatest load {_describe_load(e.load)}"
    else:
        yield "balanced" if not e.imbalance_now else f"not balanced yet: imbalance {e.imbalance_now:,}"
    if e.fullest is not None:
        yield f"most state: {label(e.fullest[0])}: {_describe_state(e.fullest[1])}"
    if e.load is None and e.imbalance_on_target:
        yield f"not balanced on target either: imbalance {e.imbalance_on_target:,}"
    if e.followup_by is not None:
        yield f"follow-up after {(e.followup_ms or 0) / 1000:g} s, requested by {label(e.followup_by)}"
        yield from outlook_to_lines(e.outlook)
    elif not e.stalled:
        yield "no follow-up: every copy is on its target client"
    if e.stalled:
        yield "stalled: no copy makes progress"
    yield from waiting_to_lines(e.waiting, label)
    yield from (f"note: {note}" for note in e.notes)


def outlook_to_text(outlook: Outlook) -> str:
    """Return the outlook in a phrase: `about 20 follow-ups, 200 minutes (3.3 hours)`."""
    assumed = f" if every client restores {ASSUMED_RATE:,} offsets per second" if outlook.is_assumed else ""
    return f"about {pluralize(outlook.followups, 'follow-up')}, {format_minutes(outlook.ms)}{assumed}"


def outlook_to_lines(outlook: Outlook | None) -> Iterator[str]:
    """Yield the outlook, the settings that determine it, and advice on them."""
    if outlook is not None:
        yield f"{outlook_to_text(outlook)} until the target is reached" + (":" if outlook.copies else "")
        if outlook.copies:
            copies = f"{outlook.copies:,} {'copy' if outlook.copies == 1 else 'copies'} to warm up"
            every = f"every {format_minutes(outlook.interval_ms)} (probing.rebalance.interval.ms)"
            if outlook.is_by_rates:
                every = "at the rates at which clients have restored"
            elif outlook.is_assumed:
                every = "by an assumed rate, as none was measured yet"
            yield f"  {copies}, {outlook.slots:,} at a time (max.warmup.replicas), {every}"
            yield from _advice_to_lines(outlook)
        if outlook.rates is not None:
            yield f"  {rates_to_text(outlook.rates)}"


def _advice_to_lines(outlook: Outlook) -> Iterator[str]:
    if outlook.more_slots:
        each = [f"{format_minutes(each.ms)} ({each.slots:,})" for each in outlook.more_slots]
        yield f"  with more at a time it would take about {', '.join(each)}; even more would save little"
    elif outlook.is_by_rates and outlook.copies > outlook.slots:
        yield "  more at a time would save little: the slowest client takes as long"


def rates_to_text(rates: RestoreRates) -> str:
    """Return the restore rates in words: `clients have restored 1,000 offsets a second (1 known)`."""
    many = (
        f"{rates.least:,} to {rates.most:,}, in the median {rates.median:,}"
        if rates.least < rates.most
        else f"{rates.median:,}"
    )
    return f"clients have restored {many} offsets a second ({rates.clients:,} known)"


def format_minutes(ms: int) -> str:
    """Return a span of time in words: `1.5 minutes`, `2,000 minutes (33.3 hours)`."""
    minutes = ms / 60_000
    number = f"{minutes:,.0f}" if minutes >= 10 else f"{minutes:.2g}"
    hours = f" ({minutes / 60:,.1f} hours)" if minutes >= 120 else ""
    return f"{number} minute{'' if number == '1' else 's'}{hours}"


def waiting_to_lines(waiting: Sequence[Waiting], label: Label = str, shown: int = SHOWN_CLIENTS) -> Iterator[str]:
    """Yield the copies for which the follow-up waits; at most `shown` are named."""
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
    """Return a number with its noun: `1 task`, `2 tasks`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def shorten_list(items: Sequence[str], shown: int = SHOWN_CLIENTS) -> str:
    """Return the first `shown` items, and the number of the others."""
    return ", ".join(items[:shown]) + (f" and {len(items) - shown:,} more" if len(items) > shown else "")


def remark_on_input(state: ApplicationState) -> Iterator[str]:
    """Yield remarks on entries left out of the snapshot, and on tasks that several clients claim as active."""
    label = ClientNames(state).label
    dropped = {name: number for name, number in state.dropped.model_dump().items() if number}
    if dropped:
        found = ", ".join(f"{number:,} ({name.replace('_', ' ')})" for name, number in dropped.items())
        yield f"entries left out, about unknown tasks or tasks without a changelog: {found}"
        examples = [f"{e.task} in {e.field} of {label(e.process_id)}" for e in state.left_out[:SHOWN_REMARKS]]
        yield from (f"  unknown task {example}" for example in examples)
    listed = clients_by_task(state, ((client.process_id, client.previous_active) for client in state.clients))
    claimed = {task: clients for task, clients in listed.items() if len(clients) > 1}
    believed = previous_assignment(state).active if claimed else {}
    for task, clients in list(claimed.items())[:SHOWN_REMARKS]:
        owners = shorten_list([*map(label, clients)], SHOWN_REMARKS)
        yield f"{len(clients)} clients claim task {task} as active: {owners}; {label(believed[task])} is believed"
    if len(claimed) > SHOWN_REMARKS:
        yield f"  and {pluralize(len(claimed) - SHOWN_REMARKS, 'task')} more that several clients claim as active"


def reason_to_text(why: Why, share: ShareCount | None) -> str:
    """Return why a task moves, with the share and its client's count: `…: 8 active tasks, share 5–6`."""
    if share is None:
        return REASONS[why]
    return f"{REASONS[why]}: {share.before:,} {name_share(share)}, share {show_range(share)}"


def name_share(count: ShareCount) -> str:
    """Return the name of the counted quantity: `active tasks of subtopology 3`."""
    return _SHARES[count.share] + ("" if count.subtopology is None else f" {count.subtopology}")


def show_range(count: ShareCount) -> str:
    """Return the bounds of the share: `1–2`."""
    return str(count.low) if count.low == count.high else f"{count.low}–{count.high}"
