"""Tests of the planner in a JVM as an assignor of studies: its answers keep the rules, and tell its own time."""

from __future__ import annotations

import pytest

from optassign.assignor import assign
from optassign.generating import Shape, generate
from optassign.judging.validation import validate
from optassign_benchmarks.jvm_planner import create_also_planner


@pytest.mark.parametrize("shape", ["scale-out", "partial"])
def test_the_planner_answers_as_an_assignor(shape: Shape) -> None:
    state = generate(shape, 24, 4, 1, seed=1)
    answer = assign(state, create_also_planner("jvm-planner"))
    assert validate(state, answer) == []
    assert answer.report.seconds["assign"] > 0
