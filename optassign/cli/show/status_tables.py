"""Tables of the applications of a running service: their state, and operators' requests."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.output import NARROW
from optassign.cli.show.style import make_table, mark_wrong
from optassign.printable import escape_unprintable

WIDEST_NAME = 40
"""Characters of an application's name in a table: wider columns leave no room for others."""


_NEED_A_LOOK = frozenset({"unknown", "stuck", "fallback"})
"""Status words that are marked."""
_SPANS = ((86400, "d"), (3600, "h"), (60, "min"))
"""Seconds and name of each unit of time."""


def render_status(found: Mapping[str, Any], width: int) -> Iterator[RenderableType]:
    """Render `optassign status`. `found`: time, whether the service records, and the applications, as JSON."""
    now = datetime.fromisoformat(found["now"])
    rows = [each["state"] for each in found["applications"] if each["state"] is not None]
    yield Text(f"{now:%Y-%m-%d %H:%M:%S} UTC", style="bold")
    if rows:
        yield _make_state_table(rows, now, width)
        if any(row["status"]["word"] in _NEED_A_LOOK or row["overdue"] for row in rows):
            yield Text("! needs a look: no assignment of the assignor, no progress, or a late follow-up", style="dim")
        shadows = [_name(row["application"]) for row in rows if row["last"]["mode"] == "shadow"]
        if shadows:
            yield Text(f"In shadow mode, so that Kafka's assignor decides: {', '.join(shadows)}")
        if found["more"]:
            yield Text(f"{found['more']:,} more applications are not listed; name one to see it.")
        for each in found["applications"]:
            yield from _render_copies(each.get("copies", ()), each.get("more_copies", 0), now, width)
    elif found["recording"]:
        yield Text("No rebalance has been recorded yet.")
    else:
        yield Text("The service records nothing, so it knows no states: start it with --recordings DIR.")
    requests = [each["requests"] for each in found["applications"] if each["requests"] is not None]
    yield Text("")
    yield from render_requests(requests)


def render_requests(requests: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    """Render the requests in force: request, requester, and since when."""
    rows = [(_name(each["application"]), *row) for each in requests for row in _list_requests(each)]
    if not rows:
        names = ", ".join(_name(each["application"]) for each in requests)
        yield Text(f"Nothing is paused, drained or limited{f': {names}' if names else ''}.")
        return
    table = make_table("application", "in force", "by", "since (UTC)")
    for row in rows:
        table.add_row(*row)
    yield table


def _list_requests(found: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield the requests in force for an application: request, requester, since when."""
    if found["ended"] is not None:
        text = f"forgotten from {_format_time(found['ended']['expected_at'])} on"
        yield text, escape_unprintable(found["ended"]["by"]), _format_time(found["ended"]["at"])
    for field, text in (("paused", "paused"), ("forget_plan", "replanned at the next rebalance")):
        if found[field] is not None:
            yield text, escape_unprintable(found[field]["by"]), _format_time(found[field]["at"])
    quiet = found["quiet"]
    if quiet is not None:
        now = f"until {_format_time(quiet['ends_at'])}" if quiet["now"] else "not now"
        yield f"quiet hours {', '.join(quiet['hours'])} {quiet['time_zone']}: {now}", "", ""
    for drain in found["drains"]:
        what = f"drain of {escape_unprintable(drain['client'])}: {drain['state'].replace('_', ' ')}"
        yield what, escape_unprintable(drain["by"]), _format_time(drain["at"])
    for limit in found["limits"]:
        yield f"limit {escape_unprintable(str(limit.get('name') or limit['kind']))}", "", ""


def _make_state_table(rows: Sequence[Mapping[str, Any]], now: datetime, width: int) -> RenderableType:
    """Return a table of applications with their status, follow-up, load and standbys; `width`: columns of the terminal."""
    wide = width >= NARROW
    table = make_table("application")
    for name in ("status", "since", "follow-up", "waiting", *(("done",) if wide else ()), "load", "standbys"):
        table.add_column(name, no_wrap=True, justify="left" if name in ("status", "since", "follow-up") else "right")
    for row in rows:
        word, load, wanted = row["status"]["word"], row["load_least"], row["standbys_wanted"]
        cells: list[str | Text] = [
            mark_wrong(word, word in _NEED_A_LOOK),
            _format_ago(row["status"]["since"], now),
            mark_wrong(_format_due(row["next_followup"], now), row["overdue"]),
            f"{row['waiting']:,}",
        ]
        if wide:
            cells.append(_format_ago(row["expected_end"], now))
        cells.append("–" if load is None else f"{load:.3g}–{row['load_most']:.3g}")
        cells.append("–" if wanted is None else f"{row['standbys_caught_up']:,}/{wanted:,}")
        table.add_row(_name(row["application"]), *cells)
    return table


def _render_copies(copies: Sequence[Mapping[str, Any]], more: int, now: datetime, width: int) -> Iterator[RenderableType]:
    """Render the copies that an application's follow-up waits for; wide terminals show why."""
    if not copies:
        return
    table = make_table("task", "client")
    for name in ("role", "restored", "done", "since", *(("why",) if width >= NARROW else ())):
        table.add_column(name, justify="right" if name == "restored" else "left")
    for row in copies:
        share = row["progress"] if row["progress_now"] is None else row["progress_now"]
        cells = (
            escape_unprintable(row["task"]),
            _name(row["client"]),
            row["role"],
            "–" if share is None else f"{share:.0%}",
            _format_ago(row["expected_end"], now),
            _format_ago(row["since"], now),
            escape_unprintable(row["why"]),
        )
        table.add_row(*cells[: len(table.columns)])
    yield Text("\nThe follow-up waits for:")
    yield table
    if more:
        yield Text(f"{more:,} more copies are not listed.")


def _name(name: str | None) -> str:
    """Return an application's name, escaped and cut to `WIDEST_NAME`; `(no name)` if it is empty."""
    shown = escape_unprintable(name) if name else "(no name)"
    return shown if len(shown) <= WIDEST_NAME else f"{shown[: WIDEST_NAME - 1]}…"


def _format_time(text: str) -> str:
    return escape_unprintable(text)[:19].replace("T", " ")


def _format_ago(text: str | None, now: datetime) -> str:
    if text is None:
        return "–"
    span = _format_span(text, now)
    return f"{span} ago" if datetime.fromisoformat(text) <= now else f"in {span}"


def _format_due(text: str | None, now: datetime) -> str:
    """Return the time until a follow-up is due; `due …` if the follow-up is late."""
    if text is None or datetime.fromisoformat(text) > now:
        return _format_ago(text, now)
    return f"due {_format_span(text, now)}"


def _format_span(text: str, now: datetime) -> str:
    """Return the time between `text` and `now` in one unit, such as `3 h`."""
    seconds = abs((now - datetime.fromisoformat(text)).total_seconds())
    size, unit = next(((size, unit) for size, unit in _SPANS if seconds >= 2 * size), (1, "s"))
    return f"{seconds / size:.0f} {unit}"
