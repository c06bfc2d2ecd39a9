"""Tests of the measures that users feel, from states of an application that are set by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optassign.simulation.timed.application import ABSENT, FOLLOWING, RESTORING, RUNNING, Application
from optassign.simulation.timed.measures import RunMeasures
from optassign.simulation.timed.scenario import Scenario


@pytest.fixture
def application() -> Application:
    """Return an application of two logged tasks on two clients, each active on one client and in sync on the other."""
    made = Application(
        Scenario.model_validate(
            {
                "name": "by hand",
                "duration_s": 60,
                "configs": {"num_standby_replicas": 1},
                "subtopologies": [{"partitions": 2, "state": 100, "input_per_s": 1}],
                "clients": [{"count": 2}],
            }
        )
    )
    made.up[:] = True
    made.owner[:] = (0, 1)
    made.mode[:] = ((RUNNING, FOLLOWING), (FOLLOWING, RUNNING))
    return made


def test_seconds_of_each_task_add_up(application: Application) -> None:
    measures = RunMeasures(imbalances=(0, 0, 0))
    measures.look(application, 0.0)
    measures.pass_time(10.0, 0.0)
    application.mode[0] = (RESTORING, ABSENT)
    application.backlog[0] = 4.0
    measures.imbalances = (3, 1, 5)
    measures.look(application, 10.0)
    measures.pass_time(20.0, 8.0)
    assert (measures.down_task_s, measures.down_logged_task_s, measures.without_copy_task_s) == (20.0, 20.0, 20.0)
    assert (measures.unbalanced_s, measures.active_imbalance_s, measures.client_imbalance_s) == (20.0, 60.0, 20.0)
    assert measures.without_standby_task_s == 20.0
    assert measures.backlog_s == (4 + 8) / 2 * 20
    assert measures.most_backlog == 4.0
    assert [(point.down, point.imbalance) for point in measures.curve] == [(0, 0), (1, 5)]


def test_the_longest_downtime_is_of_one_task_and_lasts_to_the_end(application: Application) -> None:
    measures = RunMeasures()
    for at, down in ((0, [0]), (4, []), (6, [1]), (13, [1])):
        application.mode[np.arange(2), np.arange(2)] = RUNNING
        application.mode[down, down] = RESTORING
        measures.look(application, at)
    assert measures.longest_down_s == 4.0
    measures.end(15.0)
    assert measures.longest_down_s == 9.0


def test_lasting_balance_begins_after_the_last_imbalance(application: Application) -> None:
    measures = RunMeasures()
    for at, imbalance in ((0, 2), (5, 0), (7, 1), (9, 0), (11, 0)):
        measures.imbalances = (imbalance, 0, imbalance)
        measures.look(application, at)
    measures.end(12.0)
    assert measures.balanced_at_s == 9.0
    measures.imbalances = (1, 0, 1)
    measures.look(application, 12.0)
    measures.end(13.0)
    assert measures.balanced_at_s is None
    assert measures.balanced_since() == math.inf
