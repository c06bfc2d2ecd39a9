"""Tests of this rebalance in small cases: which client leads until the planned active is caught up."""

from __future__ import annotations

import numpy as np
import pytest
from judging import make_snapshot

from optassign.formats.state import ApplicationState
from optassign.translating.snapshot import read_situation
from optassign_models.flows import find_least_imbalance_actives
from optassign_models.greedy.plan import choose_greedy_actives
from optassign_models.problem import make_placement
from optassign_models.rebalance import ChooseActives, rebalance
from optassign_models.shares import compute_shares

END = 1000
IDS = ["0_0", "0_1", "0_2", "0_3"]
both = pytest.mark.parametrize("choose", [find_least_imbalance_actives, choose_greedy_actives], ids=["flow", "greedy"])


def lead(state: ApplicationState, active: str, standby: str, choose: ChooseActives) -> list[tuple[str, str]]:
    """Return (active, standbys) of each task on the way to a target with all actives on `active`, all standbys on `standby`."""
    clients = "".join(client.process_id for client in state.clients)
    T, C = len(state.tasks), len(clients)
    keys = [task * C + clients.index(client) for task in range(T) for client in standby]
    plan = make_placement(np.full(T, clients.index(active)), np.array(keys, dtype=np.int64), C)
    problem = read_situation(state).problem
    given = rebalance(problem, compute_shares(problem), plan, choose).whole
    standbys = ["".join(clients[c] for c in given.standby_client[given.standby_task == task]) for task in range(T)]
    return [(clients[client], theirs) for client, theirs in zip(given.active.tolist(), standbys, strict=True)]


def group(lag: int, owner: bool = True) -> ApplicationState:
    """Return a group: o owns all tasks or, without `owner`, is caught up like their standby s; x lags by `lag`."""
    clients = {
        "o": {"active" if owner else "standby": IDS, "lags": dict.fromkeys(IDS, -2 if owner else 0)},
        "s": {"standby": IDS, "lags": dict.fromkeys(IDS, 0)},
        "x": {"lags": dict.fromkeys(IDS, lag)},
    }
    return make_snapshot(dict.fromkeys(IDS, END), clients, num_standby_replicas=1)


@both
@pytest.mark.parametrize("planned_standby", ["o", "s"])
def test_an_owner_keeps_its_tasks_until_the_planned_active_may_lead(planned_standby: str, choose: ChooseActives) -> None:
    """The owner leads, whether or not it is a planned standby, though s could take some tasks."""
    assert lead(group(lag=11), "x", planned_standby, choose) == [("o", "s")] * 4
    assert lead(group(lag=10), "x", planned_standby, choose) == [("x", planned_standby)] * 4


@both
def test_a_planned_active_that_is_caught_up_leads_at_once(choose: ChooseActives) -> None:
    assert lead(group(lag=11), "s", "x", choose) == [("s", "o")] * 4


@both
def test_unowned_tasks_are_led_by_the_clients_of_least_imbalance(choose: ChooseActives) -> None:
    """Only o and s may lead, so each gets two tasks."""
    given = lead(group(lag=11, owner=False), "x", "o", choose)
    assert sorted(given) == [("o", "s"), ("o", "s"), ("s", "o"), ("s", "o")]
