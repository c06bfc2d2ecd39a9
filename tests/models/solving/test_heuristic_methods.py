"""Tests of `optassign_models.solving.heuristic_methods`: what greedy does not find is not impossible."""

from __future__ import annotations

from judging import make_snapshot

from optassign.translating.snapshot import read_situation
from optassign_models.solving.heuristic_methods import make_greedy_method
from optassign_models.solving.method import make_case


def test_greedy_proves_of_no_plan_that_it_is_impossible() -> None:
    """Both tasks are pinned to one of two clients: no balanced plan keeps the limit."""
    pin = {"name": "pin", "kind": "pin", "subtopologies": ["0"], "clients": ["a"]}
    state = make_snapshot({"0_0": "stateless", "0_1": "stateless"}, {"a": {}, "b": {}}, options={"limits": [pin]})
    situation = read_situation(state)
    case = make_case(make_greedy_method(situation.requests.order), situation.problem, situation.requests.limits)
    found = case.search_plan()
    assert (found.placement, found.impossible) == (None, False)
