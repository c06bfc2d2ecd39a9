"""Tests of studies without a test file: their cases, their rows, and the results that they call wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from judging import make_answer, make_snapshot

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.timeline import CopyEvent, Figures
from optassign_benchmarks.runner import StudyCase, StudyRow, run
from optassign_benchmarks.studies import arrangements, orders, speed, uneven_load
from optassign_benchmarks.studies.cold_starts import ColdStarts, draw
from optassign_benchmarks.studies.processes import (
    at_rest,
    capacity,
    group_start,
    pages,
    rolling_restarts,
    streams_groups,
    workers,
)

SPEC = Spec("steady", 12, 3, 1, 2, seed=1)


def test_an_arranged_group_rests_and_newcomers_are_empty() -> None:
    group = arrangements.arrange(SPEC.generate())
    assert arrangements.arrange(group) == group
    larger = arrangements.add_clients(SPEC, 2)
    assert sorted(len(client.previous_active) for client in larger.clients) == [0, 0, 4, 4, 4]
    smaller = arrangements.remove_clients(SPEC, 1)
    assert {c.process_id for c in smaller.clients} < {c.process_id for c in group.clients}
    assert len(smaller.clients) == 2


def test_each_loss_of_a_client_is_measured_and_has_one_line() -> None:
    case = StudyCase(lambda: (SPEC, 2), {"size": "12 × 3 × 1", "came": "2, then 3"})
    table = arrangements.FAILOVER.layouts[0].fill(run([case], ("greedy", "cp-sat"), arrangements.FAILOVER.parts))
    assert [row[:3] for row in table.rows] == [("12 × 3 × 1", "2, then 3", name) for name in ("greedy", "cp-sat")]
    found = arrangements.let_die((SPEC, 3), "cp-sat")
    assert {name: len(values) for name, values in found.items()} == {"too_many": 3, "rebalances": 3, "moves": 3}
    assert max(found["too_many"]) <= 1, "standbys of one client's tasks are on both others"


class Scripted:
    """An assignor that returns prepared answers."""

    def __init__(self, *answers: TaskAssignment) -> None:
        self._answers = list(answers)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return self._answers.pop(0)


def test_a_cold_start_is_a_task_that_leaves_its_known_state() -> None:
    on_disks: tuple[dict[str, Any], ...] = ({"a": {"0_0": 0}, "b": {}}, {"a": {}, "b": {}})
    states = [make_snapshot({"0_0": 100, "0_1": 100}, clients) for clients in on_disks]
    answers = [
        make_answer({"b": "0_0 0_1"}),
        make_answer({"b": "0_0 0_1"}),
        make_answer({"a": "0_0"}),
        make_answer({"a": "0_0"}),
    ]
    watched = ColdStarts(Scripted(*answers))  # type: ignore[arg-type]
    for state in (states[0], states[0], states[0], states[1]):
        watched.assign(state)
    assert watched.sums == {"cold": 2, "avoidable": 1, "held": 3, "tasks": 4}, "a repeated answer counts once"
    wiped = draw(3, 1, "stays, restarts wipe disks")
    assert "process restarted" not in {change.do for change in wiped.changes}


def test_orders_are_wrong_with_too_few_proofs_or_too_great_a_gap() -> None:
    fields: dict[str, Any] = {
        "by": "order",
        "size": "100 × 10",
        "standbys": 1,
        "asked": "default",
        "gap": 0.0,
        "is_proven": True,
    }
    good = [StudyRow(fields)] * 19
    assert list(orders.ORDERS_OF_GOALS.demands([*good, StudyRow({**fields, "is_proven": False})])) == []
    (few,) = orders.ORDERS_OF_GOALS.demands([*good[:9], StudyRow({**fields, "is_proven": False})])
    assert few == "order, 100 × 10, 1, default: 9 of 10 proven, greatest gap 0.00%"
    (far,) = orders.ORDERS_OF_GOALS.demands([*good, StudyRow({**fields, "gap": 0.0051})])
    assert far.endswith("20 of 20 proven, greatest gap 0.51%")


def test_a_group_at_rest_needs_no_plan_to_be_proven() -> None:
    state = generate("steady", 12, 3, 1, seed=1)
    rest = state.model_copy(update={"remembered": assign(state)})
    assert speed.prove(rest, "cp-sat") == {"needs_plan": False}
    joined = speed.prove(generate("scale-out", 12, 4, 1, seed=1), "cp-sat")
    assert (joined["needs_plan"], joined["gap"]) == (True, 0.0)


@pytest.mark.parametrize(("tasks", "backlog", "lines"), [("by rates", 2e6, 1), ("by rates", 9e5, 0), ("counted", 2e6, 0)])
def test_a_backlog_is_wrong_where_tasks_are_weighed(tasks: str, backlog: float, lines: int) -> None:
    row = StudyRow({"case": "a day", "assignor": "cp-sat", "tasks": tasks, "most_backlog": backlog})
    assert len(list(uneven_load.UNEVEN_LOAD.demands([row]))) == lines


def test_two_workers_are_compared_with_one_and_with_a_sweep_on_paper() -> None:
    cases = list(workers.WORKERS.cases(True))
    runs = [[{"rows": 12, "command_s": 40.0, "solving_s": s} for s in each] for each in ((20.0, 24.0, 22.0), (11.0,))]
    one, two = workers.WORKERS.summarise(list(zip(cases, runs, strict=True)))
    assert (one.cells["solving, s"], one.cells["from – to"], one.cells["times one worker"]) == (22.0, "20.0 – 24.0", 1.0)
    assert two.cells["times one worker"] == 2.0
    assert two.cells["core-hours of 100,000 rows"] == round(100_000 * 11 * 2 / 12 / 3600, 1)


def test_cases_with_a_join_are_also_played_without_a_trigger() -> None:
    cases = streams_groups._list_cases(quick=False)
    assert [len(case.variants) for case in cases] == [4, 4, 3, 4, 3, 3, 3]
    cells = streams_groups._to_cells(Figures({"0_0": 3.0, "0_1": 1.0}, {"0_2": 0.25}, 0, 0.5, 4.0, None))
    assert list(cells.values()) == [2, "2.0", "3.0", "0.2", "4.0", "–", "50%"]


def test_a_start_counts_moves_restored_copies_and_pauses_after_the_first_run() -> None:
    def tell(at: int, process: str, state: str) -> CopyEvent:
        return CopyEvent(at, "0_0", process, f"{process}-1", "active", state)

    events = [tell(1_000, "a", "restoring"), tell(3_000, "a", "running"), tell(5_000, "a", "gone"), tell(9_000, "b", "running")]
    group: Any = SimpleNamespace(members=SimpleNamespace(now_ms=10_000, tasks={"0_0": True}), threads={"a": 1, "b": 1})
    cells, twice_ms = group_start._measure(group, events, 0)
    assert list(cells.values()) == [1, 1, "3.0", "4.0"]
    assert twice_ms == 0


def test_moves_of_a_rolling_restart_are_counted_and_its_faults_have_a_place() -> None:
    group: Any = SimpleNamespace(deaths=["a died"], load=SimpleNamespace(faults=["1 record lost"]))
    group.owners = lambda: {"0_0": ["a", "b", "a"], "0_1": ["b"]}
    assert rolling_restarts._list_moves(group) == [("a", "b"), ("b", "a")]
    (row,) = rolling_restarts.play_all({"the plug-in": group}, lambda group: {"rebalances": 3}, {"members": "static"})
    assert row.cells == {"members": "static", "assignor": "the plug-in", "rebalances": 3}
    assert row.faults == ("static, the plug-in: a died", "static, the plug-in: 1 record lost")


def test_replies_without_an_answer_are_refused() -> None:
    replies = capacity._Replies()
    for status in [200] * 98 + [503, 0]:
        replies.add(status, status / 1000)
    assert (replies.refused, replies.p95) == (2, 0.2)


def test_pages_are_described_by_their_recordings() -> None:
    specs = (Spec("scale-out", 1_000, 100),)
    assert pages._describe(specs, 500) == "500 of 1,000 × 100"
    assert pages._describe(specs * 50, 1_000_000) == "1,000,000 of 50 applications"
    assert [number for _, number, _ in pages._list_cases(quick=True)] == [500, 50, 50_000]


def test_a_group_at_rest_may_rebalance_for_a_service_alone() -> None:
    counts = {"rebalances": 6, "written": 1_000, "lost": 0, "doubled": 0, "dead": 0}
    assert not at_rest.describe("jar with service", 60, counts).faults
    assert at_rest.describe("jar alone", 60, counts).faults == ("jar alone: 6 rebalances, at most 0 allowed",)
    lossy = at_rest.describe("jar with service", 60, {**counts, "lost": 1, "dead": 2})
    assert [fault.partition(": ")[2] for fault in lossy.faults] == [
        "1 records lost, at most 0 allowed",
        "2 stream threads dead, at most 0 allowed",
    ]
