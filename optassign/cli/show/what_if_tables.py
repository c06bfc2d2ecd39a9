"""A change, compared with the application as it is: figures side by side, what moves, and why."""

from collections.abc import Callable, Iterator

from rich.console import RenderableType
from rich.text import Text

from optassign.cli.show.style import make_headline, make_table, wrap_lines
from optassign.judging.explanation_text import format_minutes, pluralize
from optassign.service.views.what_if import Outcome, WhatIfView
from optassign_models.policy.display import LISTED_MOVES

__all__ = ["render_what_if"]

_ASSUMED = " *"
"""Marks a time that rests on an assumed rate."""
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
    """What `optassign what-if` shows. `width` in columns."""
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
