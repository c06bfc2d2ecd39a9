"""Tests of assignors' targets in the broker: the model of Kafka's `balanced`, and the checks of a target."""

from __future__ import annotations

import pytest

from optassign.assignor import create
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.measuring.placement import TaskPlacement
from optassign_benchmarks.studies.kafka_warm_ups import BalancedTarget, judge_target, make_group_in_zones
from optassign_benchmarks.studies.load import make_group


@pytest.mark.parametrize("seed", range(5))
def test_balanced_places_as_kafkas_default_if_no_instance_has_state(seed: int) -> None:
    state = generate("cold", 40, 6, 1, seed=seed)
    expected = create("high-availability").assign(state)
    found = BalancedTarget().assign(state)
    assert TaskPlacement.of(state, found) == TaskPlacement.of(state, expected)


def test_balanced_ignores_previous_owners() -> None:
    """The target depends on tasks and instances, not on previous owners."""
    state = make_group("scale-out", 40, 10, 1, "lognormal", 1)
    assert _place(state) == _place(_forget(state))


def _place(state: ApplicationState) -> TaskPlacement:
    return TaskPlacement.of(state, BalancedTarget().assign(state))


def _forget(state: ApplicationState) -> ApplicationState:
    nothing: dict[str, object] = {"previous_active": (), "previous_standby": (), "lags": {}}
    clients = tuple(client.model_copy(update=nothing) for client in state.clients)
    return state.model_copy(update={"clients": clients, "remembered": None})


def test_weights_and_zones_are_kept_by_the_target_that_knows_them() -> None:
    state = make_group_in_zones(40, 10)
    balanced, own = (judge_target(state, name) for name in ("balanced", "cp-sat"))
    assert float(str(own["load"])) < float(str(balanced["load"]))
    assert own["in_one_zone"] == 0
    assert (balanced["proven"], own["proven"]) == (False, True)
