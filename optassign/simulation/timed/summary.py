"""The figures of a run, by name, as JSON and tables have them."""

from __future__ import annotations

import json
from hashlib import sha256

from optassign.measuring.described import list_measures
from optassign.simulation.timed.measures import Felt
from optassign.simulation.timed.simulator import Played

__all__ = ["FIGURES", "digest", "summarise"]

FIGURES = {measure.name: measure for measure in list_measures(Felt)}
"""The measures of `Felt`, by name."""


def summarise(played: Played) -> dict[str, float | int | None]:
    """Figure -> value; seconds to the millisecond."""
    values = {name: getattr(played.felt, name) for name in FIGURES}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def digest(played: Played) -> str:
    """Digest the whole timeline: every event, and every point of the curves, to the thousandth."""
    curve = [[round(float(value), 3) for value in vars(point).values()] for point in played.felt.curve]
    return sha256(json.dumps([played.events, curve]).encode()).hexdigest()[:16]
