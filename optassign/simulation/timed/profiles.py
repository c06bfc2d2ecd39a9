"""How inputs change with the time of day."""

from __future__ import annotations

import math

import numpy as np

from optassign.simulation.timed.application import Application, FloatArray
from optassign_models.policy.simulation import BURST, PERIOD_S, SWING

_DAY_S = 86_400.0


def compute_factors(application: Application, now: float) -> FloatArray:
    """(T,) what the mean input of each task is multiplied with now."""
    step = math.floor(now / PERIOD_S)
    daily = 1.0 - SWING * math.cos(2 * math.pi * (step * PERIOD_S % _DAY_S) / _DAY_S)
    at_hand = {"constant": 1.0, "daily": daily}
    return np.array(
        [
            at_hand.get(task.group.profile, BURST if (step + t) % round(3600 / PERIOD_S) == 0 else 1.0)
            for t, task in enumerate(application.tasks)
        ]
    )
