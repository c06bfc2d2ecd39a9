"""Goal (a), `disk`: the greatest state on a client, active copies and standbys alike, in thousandths of an even spread.

A copy's state is rounded down to a millionth of an even spread, the greatest sum up to a thousandth.

Before the program of few pairs, the client that keeps most state trades copies with others. Two copies of one role and one
subtopology change places, a large one of the fullest client for a small one of another, so all counts stay. The best trade
leaves least state on the fuller of the two clients; among trades that leave at most an even spread, the best restores least.
The trades end when the fullest client has no trade that helps.
"""

from __future__ import annotations

import numpy as np

from optassign_models.goals.goal import Carried, GoalModel
from optassign_models.policy.constants import DISK_COPIES, DISK_LEAST_GAIN, DISK_PARTNERS, DISK_STEPS, WRITTEN_OUT_PAIRS
from optassign_models.problem import IntArray, Placement, Problem, exact_sum, make_placement

_EVEN_SPREAD = 10**6


def list_sizes(p: Problem) -> IntArray:
    """Return (T,) the state of a copy of each task, in millionths of an even spread over the clients that stay."""
    staying = int(p.staying.sum())
    size = np.where(p.logged, p.end, 0)
    total = max(1, exact_sum(size) * (p.standbys + 1))
    return np.array([each * 1_000_000 * staying // total for each in size.tolist()], dtype=np.int64)


DISK = GoalModel("disk", carries=lambda problem: Carried.of_tasks(list_sizes(problem), grain=1000))
GOALS = (DISK,)


def bound_state(problem: Problem) -> int:
    """Return a lower bound of the goal, in its thousandths, for every plan: the greatest of the mean state of a client, the
    largest copy, and the least state of two copies that have to share a client."""
    sizes = np.sort(np.repeat(list_sizes(problem)[problem.logged], problem.standbys + 1))[::-1]
    if not len(sizes):
        return 0
    least = max(-(-int(sizes.sum()) // problem.C), int(sizes[0]))
    if len(sizes) > problem.C:
        least = max(least, int(sizes[problem.C - 1] + sizes[problem.C]))
    return -(-least // 1000)


def even_out_state(problem: Problem, placed: Placement) -> Placement:
    """Return the placement with copies traded for less state on the fullest client; unchanged if no trade helps."""
    if problem.T * problem.C > WRITTEN_OUT_PAIRS or not problem.logged.any():
        return placed
    C, logged = problem.C, np.flatnonzero(problem.logged)
    task = np.concatenate([logged, placed.standby_task])  # the active copies first, then the standbys
    client = np.concatenate([placed.active[logged], placed.standby_client])
    kind = problem.group[task] * 2 + (np.arange(len(task)) < len(logged))  # copies of one subtopology and role may trade
    size = list_sizes(problem)[task]
    kept = np.zeros(C, dtype=np.int64)
    np.add.at(kept, client, size)
    held = np.zeros((problem.T, C), dtype=np.bool_)
    held[task, client] = True

    def list_copies(clients: IntArray | int, most: int) -> IntArray:
        """Return copies on the clients; if they are more than `most`, some of all sizes, since a trade compares all pairs."""
        copies = np.flatnonzero(np.isin(client, clients))
        every = -(-len(copies) // most)
        return copies if every < 2 else copies[np.argsort(size[copies], kind="stable")[::every]]

    def trade(giver: int, partners: IntArray) -> bool:
        """Make the best trade of the giver with a partner. Return whether a trade was made."""
        mine = list_copies(giver, DISK_COPIES)
        theirs = list_copies(partners, DISK_COPIES**2 // max(1, len(mine)))
        of_giver, of_others, there = task[mine], task[theirs], client[theirs]
        moved = size[mine][:, None] - size[theirs][None, :]
        fits = (moved > 0) & (kind[mine][:, None] == kind[theirs][None, :])
        fits &= ~held[of_giver[:, None], there[None, :]] & ~held[of_others, giver][None, :]
        greater = np.maximum(kept[giver] - moved, kept[there][None, :] + moved)
        fits &= greater <= kept[giver] - DISK_LEAST_GAIN
        row, column = np.nonzero(fits)
        if not len(row):
            return False
        cost = problem.cost_of(of_giver[row] * C + there[column]) + problem.cost_of(of_others[column] * C + giver)
        cost -= problem.cost_of(of_giver[row] * C + giver) + problem.cost_of(of_others[column] * C + there[column])
        best = int(np.lexsort((cost, np.maximum(greater[row, column], _EVEN_SPREAD)))[0])
        one, other = int(mine[row[best]]), int(theirs[column[best]])
        partner = int(client[other])
        held[task[one], [giver, partner]] = False, True
        held[task[other], [partner, giver]] = False, True
        client[one], client[other] = partner, giver
        kept[giver] -= moved[row[best], column[best]]
        kept[partner] += moved[row[best], column[best]]
        return True

    for _ in range(DISK_STEPS):
        giver = int(np.argmax(kept))
        chosen = others = np.flatnonzero((kept < kept[giver]) & (~problem.draining | problem.draining[giver]))
        if kept[giver] <= _EVEN_SPREAD or not len(others):
            break
        if len(others) > DISK_PARTNERS:
            chosen = others[np.argsort(kept[others], kind="stable")[:DISK_PARTNERS]]
        if not (trade(giver, chosen) or (len(chosen) < len(others) and trade(giver, others))):
            break
    active = placed.active.copy()
    active[logged] = client[: len(logged)]
    return make_placement(active, task[len(logged) :] * C + client[len(logged) :], C)
