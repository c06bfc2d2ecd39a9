"""Goal (a), `tag_spread`: distinct tag values among the copies of each logged task; more is better (KIP-708)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from optassign.models.forced import Forced
from optassign.models.goals.goal import GoalModel
from optassign.models.placed import Placed
from optassign.models.problem import IntArray

if TYPE_CHECKING:
    from optassign.models.cp_sat.variables import Expression, Variables

NAME = "tag_spread"


@dataclass(frozen=True, eq=False)
class Tags:
    """What the goal needs to know of a snapshot."""

    values: tuple[IntArray, ...]
    """(C,) for each tag: the client's value, −1 for none."""


def _value(placed: Placed) -> int:
    """Negated: more is better, and models minimise."""
    p = placed.problem
    tags = p.data_of(NAME, Tags)
    keys = np.concatenate([placed.active_keys, placed.standby_keys])
    logged = keys[p.logged[keys // p.C]]
    distinct = 0
    for values in tags.values if tags is not None else ():
        reached = values[logged % p.C] >= 0
        distinct += len(np.unique((logged // p.C * (p.C + 1) + values[logged % p.C])[reached]))
    return -distinct


def _express(v: Variables, forced: Forced) -> Expression:
    p = v.problem
    tags = p.data_of(NAME, Tags)
    reached: list[Expression] = []
    for values in tags.values if tags is not None else ():
        for task in np.flatnonzero(p.logged).tolist():
            columns: dict[int, list[int]] = {}
            for i in v.columns_of(task):
                columns.setdefault(int(values[p.col_client[i]]), []).append(i)
            for value, there in sorted(columns.items()):
                if value >= 0:
                    is_reached = v.model.new_bool_var("")
                    v.model.add(v.total(v.copies(there)) >= is_reached)
                    reached.append(is_reached)
    return -1 * v.total(reached)


GOAL = GoalModel(NAME, _value, _express)
