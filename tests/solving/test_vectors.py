"""Tests that cases in tests/vectors/ have the answers on file; `VectorsTest` in java/server tests the planner alike."""

import json
from pathlib import Path

import pytest

from optassign.formats.state import ApplicationState
from optassign_benchmarks.vectors import make_vector

FILES = sorted((Path(__file__).parents[1] / "vectors").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_is_answered_as_on_file(file: Path) -> None:
    vector = json.loads(file.read_text(encoding="utf-8"))
    state = ApplicationState.model_validate(vector["snapshot"])
    found = make_vector(vector["shows"], state, any_client="answer" not in vector)
    for part in vector:
        assert found[part] == vector[part], part


def test_each_step_has_a_case() -> None:
    steps = ("slots", "offload", "lost-tasks", "failover", "followup", "stuck-copies", "ranks", "shares")
    assert [step for step in steps if not any(file.stem.startswith(step) for file in FILES)] == []
