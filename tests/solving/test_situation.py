"""Tests that a snapshot is read once, into values that no stage changes. They test `optassign_models.solving.inputs`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from optassign.assignors.cp_sat import choose_effort, choose_method
from optassign.assignors.greedy import answer_greedily
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, generate
from optassign.simulation.successors import make_restored_snapshot
from optassign.translating.answer import write_answer
from optassign.translating.snapshot import read_situation
from optassign_models.results import Deadline
from optassign_models.solving.solve import solve


def snapshots(shape: str) -> list[ApplicationState]:
    """Return a snapshot and the one after its rebalance, which has a remembered answer."""
    first = generate(shape, 24, 5, 1, threads=(1, 3), warmups=2, seed=3)  # type: ignore[arg-type]
    answer = answer_greedily(first, read_situation(first))
    return [first, make_restored_snapshot(first, answer)]


def list_arrays(value: object) -> Iterator[np.ndarray]:
    """Yield all arrays in a value, recursively."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from list_arrays(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from list_arrays(getattr(value, field.name))


@pytest.mark.parametrize("shape", SHAPES)
def test_no_stage_changes_the_situation(shape: str) -> None:
    for state in snapshots(shape):
        situation = read_situation(state)
        arrays = list(list_arrays(situation))
        assert len(arrays) > 30
        for array in arrays:
            array.setflags(write=False)  # writing to an array now fails
        methods = [choose_method(situation, choose_effort(situation, Deadline.after(600))) for _ in range(3)]
        steps = [*(solve(situation, method) for method in methods[:2]), solve(read_situation(state), methods[2])]
        answers = [write_answer(state, situation, step, "cp-sat").without_times() for step in steps]
        assert answers[0] == answers[1] == answers[2]
        answer_greedily(state, situation)
