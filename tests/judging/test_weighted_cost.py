"""Tests that the measure of the weighted sum equals the value in the report, which the model computes."""

from __future__ import annotations

import random

from tiny import draw_tiny_state

from optassign.assignor import assign
from optassign.formats.state import Weights
from optassign.judging.metrics import measure_weighted_cost


def test_the_measure_equals_the_models_value() -> None:
    looked = 0
    for seed in range(60):
        rng, state = random.Random(seed), draw_tiny_state(seed, most=800)
        drawn = [round(10 ** rng.uniform(-1, 4), 3) for _ in range(3)]
        weights = Weights(instance=drawn[0], subtopology=drawn[1], stickiness=drawn[2])
        options = state.options.model_copy(update={"preset": "weighted", "weights": weights})
        state = state.model_copy(update={"options": options})
        answer = assign(state)
        for goal in answer.report.goals:
            if goal.name == "weighted_cost":
                looked += 1
                assert abs(measure_weighted_cost(state, answer) - goal.value) < 1e-6, f"seed {seed}"
    assert looked >= 10
