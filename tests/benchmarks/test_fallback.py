"""The study of an outage: the planner in the JVM beside the service."""

import math
from dataclasses import replace

from optassign_benchmarks.studies.episodes import fallback as study
from optassign_benchmarks.studies.episodes.time_to_balance import Job, Outcome

GROUP = Job("scale-out", 100, 10, 2, "small", 101)
OUTCOME = Outcome(
    limit_s=10, settled_s=12, balanced_s=11, rebalances=5, passes=9, lock_step=4, imbalance_s=50, down_s=8,
    kafka_imbalance_s=900, kafka_down_s=90, least_imbalance_s=math.nan, moves=7, moves_logged=6,
)  # fmt: skip
FOUND = {
    replace(GROUP, assignor="cp-sat"): OUTCOME,
    replace(GROUP, assignor="jvm-planner"): replace(OUTCOME, settled_s=13, passes=10, imbalance_s=60, moves=8),
}


def test_a_row_has_the_service_the_planner_and_kafkas_default() -> None:
    row = study.tabulate([GROUP], FOUND).to_markdown().splitlines()[-1]
    assert row == r"| 100 × 10 | scale-out | 2 | small | 12 \| 13 | 9 \| 10 | 50 \| 60 \| 900 | 8 \| 8 \| 90 | 7 (6) \| 8 (6) |"
    assert study.find_wrong(FOUND) == []


def test_more_downtime_than_kafkas_and_no_end_are_wrong() -> None:
    planner = replace(GROUP, assignor="jvm-planner")
    for outcome in (replace(OUTCOME, down_s=91), replace(OUTCOME, settled_s=math.inf)):
        (line,) = study.find_wrong({planner: outcome})
        assert line.startswith(str(planner))
        assert study.find_wrong({replace(GROUP, assignor="cp-sat"): outcome}) == []
