"""Values of goals (a) of a placement: rack traffic, tag spread, load. The same definitions as expressions are in goals.py."""

from __future__ import annotations

import numpy as np

from .problem import Placement, Problem


def even_load(p: Problem) -> float:
    """Load per unit where it is spread evenly over the clients that stay."""
    staying = p.units[~p.draining] if not p.draining.all() else p.units
    return float(p.load.sum()) / float(staying.sum()) if p.load is not None else 0.0


def configured_values(p: Problem, plan: Placement) -> dict[str, int]:
    """Values of goals (a) of a placement, by the same definitions."""
    C = p.C
    found = {"rack_traffic": 0, "tag_spread": 0, "load": 0}
    keys = np.concatenate([np.arange(p.T) * C + plan.active, plan.standby_keys(C)])
    if p.rack_of is not None and p.crossings is not None:
        found["rack_traffic"] = int(p.crossings[keys // C, p.rack_of[keys % C]].sum())
    for values in p.tags:
        logged = keys[p.logged[keys // C]]
        reached = values[logged % C] >= 0
        found["tag_spread"] -= len(np.unique((logged // C * (C + 1) + values[logged % C])[reached]))
    if p.load is not None:
        carried = np.bincount(plan.active, weights=p.load, minlength=C)
        room = np.maximum(1, np.round(even_load(p) * p.units))
        found["load"] = int(np.max(np.ceil(1000 * carried / room - 1e-9)))
    return found
