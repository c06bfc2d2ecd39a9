"""Values of goals (a) of a placement: rack traffic, tag spread, load. The same definitions as expressions are in goals.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optassign.models.problem import IntArray, Placement, Problem

_MOST_LOAD = 1 << 40
"""Millionths of an even spread that one task adds at most: with more, as on a client of next to no capacity, sums would
leave int64."""


def load_shares(p: Problem) -> npt.NDArray[np.float64]:
    """(C,) what one unit of load adds to a client's load, in millionths of an even spread over the clients that stay."""
    assert p.load is not None
    staying = p.units[~p.draining] if not p.draining.all() else p.units
    shares: npt.NDArray[np.float64] = 1e6 * float(staying.sum()) / (p.units.astype(np.float64) * max(1.0, float(p.load.sum())))
    return shares


def load_carried(p: Problem, task: IntArray, client: IntArray) -> IntArray:
    """Of each pair, what the task adds to the client's load, in millionths of an even spread.

    Rounded down and limited, so that what is a bound of their sums is one of the loads as well.
    """
    assert p.load is not None
    carried: IntArray = np.minimum(p.load[task] * load_shares(p)[client], _MOST_LOAD).astype(np.int64)
    return carried


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
        carried = load_carried(p, np.arange(p.T), plan.active)
        found["load"] = int(-(-np.bincount(plan.active, weights=carried, minlength=C).max() // 1000))
    return found
