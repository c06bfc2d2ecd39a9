"""Tests that weights count under preset `weighted` only, and that the report says so under `lexicographic`."""

import pytest

from optassign.assignor import assign
from optassign.formats.configs import Options, Weights
from optassign.generating import generate

NOTE = "weights not used: preset lexicographic has none, preset weighted has"


@pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])
@pytest.mark.parametrize("shape", ["steady", "scale-out"])
@pytest.mark.parametrize(
    ("preset", "weights", "noted"),
    [
        ("lexicographic", Weights(instance=3.0), True),
        ("lexicographic", Weights(), False),
        ("weighted", Weights(instance=3.0), False),
    ],
)
def test_weights_that_are_not_used_are_noted(assignor: str, shape: str, preset: str, weights: Weights, noted: bool) -> None:
    state = generate(shape, 12, 3, 1, seed=1)  # type: ignore[arg-type]
    options = Options(preset=preset, weights=weights)  # type: ignore[arg-type]
    asked = state.model_copy(update={"options": options})
    notes = [note for note in assign(asked, assignor).report.notes if "weights" in note]
    assert notes == ([NOTE] if noted else [])
