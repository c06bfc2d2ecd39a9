"""Tests of the grades of tiny histories, against counts by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.clients import KafkaStreamsState
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.formats.tasks import TaskInfo
from optassign.simulation.history import Change, History
from optassign.simulation.history_grades import (
    COLUMNS,
    Grades,
    add_up,
    count_tag,
    grade_balance,
    grade_lost_zone,
    list_copies,
)
from optassign.simulation.history_playing import play_history

LOGGED = tuple(TaskInfo(id=f"0_{n}", stateful=True, logged=True, changelog_end_offset=50_000) for n in range(4))
STATELESS = tuple(TaskInfo(id=f"1_{n}", stateful=False, logged=False) for n in range(4))
Roles = Mapping[str, tuple[Sequence[str], Sequence[str]]]
"""Client → active tasks and standbys."""


def make_client(name: str, threads: int = 1, zone: str = "") -> KafkaStreamsState:
    return KafkaStreamsState(process_id=name, threads=threads, tags={"zone": zone} if zone else {})


def make_answer(roles: Roles, followup: str = "") -> TaskAssignment:
    return TaskAssignment(
        format=1,
        assignor="scripted",
        clients=tuple(
            KafkaStreamsAssignment(
                process_id=name,
                active=tuple(active),
                standby=tuple(standby),
                followup_rebalance_ms=60_000 if name == followup else None,
            )
            for name, (active, standby) in roles.items()
        ),
    )


def make_state(clients: Sequence[KafkaStreamsState], standbys: int = 0) -> ApplicationState:
    configs = AssignmentConfigs(num_standby_replicas=standbys)
    return ApplicationState(format=1, configs=configs, tasks=(*LOGGED, *STATELESS), clients=tuple(clients))


class Scripted:
    """An assignor that gives the answers of its script, and then repeats the last one."""

    def __init__(self, *script: Roles | TaskAssignment) -> None:
        self._script = [each if isinstance(each, TaskAssignment) else make_answer(each) for each in script]

    def configure(self, configs: AssignmentConfigs) -> None:
        pass

    def assign(self, state: ApplicationState) -> TaskAssignment:
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]

    def on_assignment_computed(self, *_: object) -> None:
        pass


def make_history(
    clients: Sequence[KafkaStreamsState], *changes: Change, standbys: int = 0, tags: tuple[str, ...] = ()
) -> History:
    configs = AssignmentConfigs(num_standby_replicas=standbys, rack_aware_assignment_tags=tags)
    return History("made", 1, LOGGED, tuple(clients), configs, changes, keep_state=False, growth=0.0)


def test_balance_is_counted_per_thread_and_above_the_share() -> None:
    # Threads are 1 and 3: the shares of eight tasks are two and six; of four logged tasks with a standby, four copies at most.
    grades = Grades()
    state = make_state([make_client("a"), make_client("b", threads=3)], standbys=1)
    mine, theirs = ["0_0", "0_1", "0_2", "1_0"], ["0_3", "1_1", "1_2", "1_3"]
    grade_balance(grades, state, make_answer({"a": (mine, ["0_3"]), "b": (theirs, ["0_0", "0_1", "0_2"])}))
    assert grades.spread_stateful == pytest.approx(3 - 1 / 3)
    assert grades.spread_stateless == pytest.approx(1 - 1)
    assert grades.spread_active == pytest.approx(4 - 4 / 3)
    assert grades.spread_copies == pytest.approx(4 - 4 / 3)
    assert (grades.above_stateful, grades.above_stateless, grades.above_active, grades.above_copies) == (2, 0, 2, 0)
    assert grades.skew == 2  # of subtopology 0, of which a may have one task
    assert grades.imbalance == 3 * (3 + 3)  # actives, stateful actives and subtopology 0 are each two away from their shares


def test_tags_are_reached_by_tasks_with_copies_in_several_zones() -> None:
    clients = [make_client("a", zone="x"), make_client("b", zone="x"), make_client("c", zone="y")]
    state = make_state(clients, standbys=1)
    ids = [task.id for task in LOGGED]
    apart = make_answer({"a": (ids, []), "b": ([], []), "c": ([], ids)})
    half = make_answer({"a": (ids, []), "b": ([], ids[:2]), "c": ([], ids[2:])})
    assert count_tag(state, apart, "zone") == (8, 8)
    assert count_tag(state, half, "zone") == (6, 8)
    assert count_tag(make_state(clients), apart, "zone") == (0, 0)


def test_a_lost_zone_loses_its_copies_and_tasks_without_others() -> None:
    grades = Grades()
    answer = make_answer({"a": (["0_0", "0_1", "1_0"], ["0_2"]), "b": (["0_2", "0_3"], ["0_0"])})
    grade_lost_zone(grades, make_state([make_client("a"), make_client("b")]), list_copies(answer), {"a"})
    assert (grades.zone_copies, grades.zone_tasks, grades.zone_tasks_lost) == (3, 4, 1)  # 0_1 was only on a


def test_an_added_process_is_graded() -> None:
    """Two of four tasks move to the new process in two rebalances; one of them comes back and moves again."""
    both: Roles = {"a": (["0_0", "0_1"], []), "b": (["0_2", "0_3"], [])}
    first: Roles = {"a": (["0_0"], []), "b": (["0_2"], []), "c": (["0_1", "0_3"], [])}
    back: Roles = {"a": (["0_0", "0_1"], []), "b": (["0_2"], []), "c": (["0_3"], [])}
    change = Change("process added", ("c",), joined=make_client("c"))
    history = make_history([make_client("a"), make_client("b")], change)
    scripted = Scripted(both, both, make_answer(first, "a"), make_answer(back, "a"), first, first)
    grades = play_history(history, scripted)
    assert (grades.changes, grades.rounds, grades.rests, grades.unsettled) == (1, 3, 1, 0)
    assert (grades.moves, grades.made, grades.undone) == (4, 4, 2)
    assert (grades.keepable, grades.kept) == (4, 2)
    # c had no state of either task; a deleted the state of the task that it gave up, and c that of the task taken away.
    assert (grades.copies_not_caught_up, grades.actives_not_caught_up) == (4, 4)
    assert grades.restored == 4 * 50_000
    assert grades.answers == 6


def test_a_restarted_process_may_or_may_not_keep_its_tasks() -> None:
    alone: Roles = {"b": ([task.id for task in LOGGED], [])}
    both: Roles = {"a": (["0_0", "0_1"], ["0_2", "0_3"]), "b": (["0_2", "0_3"], ["0_0", "0_1"])}
    turned: Roles = {"a": ([], ["0_0"]), "b": ([task.id for task in LOGGED], [])}
    change = Change("process restarted", ("a",), away=1, behind=0.1)
    history = make_history([make_client("a"), make_client("b")], change, standbys=1)
    assert play_history(history, Scripted(both, both, alone, both)).reused == 4
    grades = play_history(history, Scripted(both, both, alone, turned))
    assert (grades.reused, grades.reusable) == (1, 4)


def test_a_group_that_does_not_rest_is_unsettled() -> None:
    one: Roles = {"a": (["0_0", "0_1"], []), "b": (["0_2", "0_3"], [])}
    other: Roles = {"a": (["0_2", "0_3"], []), "b": (["0_0", "0_1"], [])}
    history = make_history([make_client("a"), make_client("b")], Change("thread added", ("a",)))
    assert play_history(history, Scripted(one, one, one, other)).unsettled == 1
    lost: Roles = {"a": (["0_0"], []), "b": (["0_2", "0_3"], [])}
    grades = play_history(history, Scripted(one, one, lost))
    assert grades.unsettled == 1
    assert grades.violations["R1"] == 1


def test_the_same_history_is_played_without_tags() -> None:
    """The assignor reaches both zones with tags, and one zone without them."""

    class LooksAtTags(Scripted):
        def assign(self, state: ApplicationState) -> TaskAssignment:
            ids = [task.id for task in LOGGED]
            other = "c" if state.configs.rack_aware_assignment_tags else "b"
            roles: dict[str, tuple[Sequence[str], Sequence[str]]] = {"a": (ids, []), "b": ([], []), "c": ([], [])}
            return make_answer({**roles, other: ([], ids)})

    clients = [make_client("a", zone="x"), make_client("b", zone="x"), make_client("c", zone="y")]
    history = make_history(clients, Change("thread added", ("a",)), standbys=1, tags=("zone",))
    grades = play_history(history, LooksAtTags({}))
    # At the start and after the change, each of four tasks is in two zones.
    assert (grades.zone_reached, grades.zone_reachable, grades.zone_blind) == (16, 16, 8)


def test_grades_add_up_and_columns_divide() -> None:
    one, other = Grades(changes=2, moves=3, kept=1, keepable=2), Grades(changes=1, moves=0, kept=2, keepable=2)
    one.violations["R3"] = 1
    other.violations.update({"R3": 1, "R5": 2})
    total = add_up([one, other])
    values = {column.key: column.compute(total) for column in COLUMNS}
    assert total.violations == {"R3": 2, "R5": 2}
    assert (values["violations"], values["moves"], values["kept"], values["zone"]) == (4, 1.0, 0.75, None)
    assert one.violations == {"R3": 1}


@pytest.mark.parametrize("make", [lambda: Change("zone leaves", ("a",)), lambda: Change("process dropped", ("a",))])
def test_a_lost_client_keeps_no_task(make: Callable[[], Change]) -> None:
    both: Roles = {"a": (["0_0", "0_1"], []), "b": (["0_2", "0_3"], [])}
    alone: Roles = {"b": ([task.id for task in LOGGED], [])}
    grades = play_history(make_history([make_client("a"), make_client("b")], make()), Scripted(both, both, alone))
    assert (grades.keepable, grades.kept, grades.moves, grades.made) == (2, 2, 0, 2)
    assert grades.zone_tasks_lost == (2 if make().do == "zone leaves" else 0)
