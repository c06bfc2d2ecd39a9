"""Tests of instances that join a group with old lags and late second passes, as on a real broker."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from optassign.simulation.timed.scenario import Clients, Scenario, read_scenario
from optassign.simulation.timed.simulator import simulate
from optassign_benchmarks.studies.time_with_faults import FaultWatcher

JOINS = {"i3": 10.0, "i4": 14.0}
SEEDS = (1, 2, 3)


def make_scenario(seed: int, warm_ups: int) -> Scenario:
    """Return a scenario in which instances join one after the other, and 15% of the members are late for a pass."""
    scenario = read_scenario("third-instance")
    new = Clients.model_validate({**scenario.clients[-1].model_dump(exclude={"name", "count"}), "ids": tuple(JOINS)})
    (join,) = scenario.events
    return scenario.model_copy(
        update={
            "seed": seed,
            "configs": scenario.configs.model_copy(update={"max_warmup_replicas": warm_ups}),
            "faults": scenario.faults.model_copy(update={"late": 0.15}),
            "clients": (*scenario.clients[:-1], new),
            "events": tuple(join.model_copy(update={"at": at, "clients": (name,)}) for name, at in JOINS.items()),
        }
    )


@pytest.mark.parametrize("warm_ups", [2, 16])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
def test_every_task_is_active_once_the_group_settles_and_waits_are_short(assignor: str, seed: int, warm_ups: int) -> None:
    """A wait by a wrong rate is at most the time that copies have been under way, plus a heartbeat."""
    scenario = make_scenario(seed, warm_ups)
    watched = FaultWatcher(assignor, min(JOINS.values()))
    played = simulate(scenario, watched)
    rebalances = [event for event in played.events if event["event"] == "rebalance"]
    for event in rebalances:
        given = Counter(task for roles in event["clients"].values() for task in roles.get("active", ()))
        assert given == Counter(scenario.task_ids)
    assert rebalances[-1]["followup_s"] is None
    last = played.measures.curve[-1]
    assert (last.down, last.standbys_missing, last.restoring, last.active_imbalance) == (0, 0, 0, 0)
    second = [event["at"] - before["at"] for before, event in pairwise(rebalances) if event["reason"] == "second pass"]
    assert max(second) > 1, "some second pass is late"
    assert max(wait - under_way for wait, under_way in watched.waits) <= scenario.group.heartbeat_s
