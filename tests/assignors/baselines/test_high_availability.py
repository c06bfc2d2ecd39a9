"""Tests of KIP-441 as Kafka implements it, on small snapshots. tests/java compares hundreds of answers with Kafka's class."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from answers_as_text import describe
from judging import make_snapshot

from optassign.assignor import assign
from optassign.assignors.baselines.assigned_copies import AssignedCopies, LeastLoaded
from optassign.assignors.baselines.java_collections import JavaHeap, order_by_hash
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate
from optassign_benchmarks.grid import Spec

MAX_LAG = 2**63 - 1


def ask(state: ApplicationState) -> dict[str, str]:
    return describe(assign(state, "high-availability"))


def test_an_active_moves_to_the_caught_up_client_and_warms_up_on_its_target() -> None:
    state = make_snapshot({"0_0": 100, "0_1": 100}, {"a": {"0_0": -2, "0_1": -2}, "b": {}})
    assert ask(state) == {"a": "0_0 0_1!", "b": " |  | 0_1"}


def test_a_caught_up_standby_swaps_with_the_active_without_a_warmup() -> None:
    state = make_snapshot({"0_0": 100, "0_1": 100}, {"a": {"0_0": -2, "0_1": 0}, "b": {}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0 0_1!", "b": " | 0_0 0_1"}


def test_a_standby_moves_to_the_caught_up_client_and_warms_up_on_its_target() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"0_0": -2}, "b": {"0_0": 50}, "c": {"0_0": 10}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0!", "b": " |  | 0_0", "c": " | 0_0"}


def test_a_standby_stays_if_no_client_without_a_copy_lags_less() -> None:
    state = make_snapshot({"0_0": 100}, {"a": {"0_0": -2}, "b": {"0_0": 50}, "c": {"0_0": 60}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0", "b": " | 0_0", "c": ""}


def test_when_warmups_are_used_up_copies_move_and_leave_nothing() -> None:
    tasks = dict.fromkeys(("0_0", "0_1", "0_2", "0_3"), 100)
    state = make_snapshot(tasks, {"a": dict.fromkeys(tasks, -2), "b": {}, "c": {}, "d": {}}, max_warmup_replicas=1)
    assert ask(state) == {"a": "0_0 0_1 0_2 0_3!", "b": " |  | 0_1", "c": "", "d": ""}


def test_actives_come_before_standbys_for_warmups() -> None:
    clients = {"a": {}, "b": {"0_0": -2}, "c": {}, "d": {"0_0": 0}}
    state = make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, max_warmup_replicas=1)
    # The target has the active on a, the standby on b. They swap; the standby then moves from a to d and takes the only slot.
    assert ask(state) == {"a": " |  | 0_0!", "b": "0_0", "c": "", "d": " | 0_0"}
    clients = {"a": {}, "b": {}, "c": {"0_0": -2}, "d": {"0_0": 0}}
    state = make_snapshot({"0_0": 100}, clients, num_standby_replicas=1, max_warmup_replicas=1)
    # No client can swap: a's active warms up, and no slot is left for b's standby.
    assert ask(state) == {"a": " |  | 0_0!", "b": "", "c": "0_0", "d": " | 0_0"}


def test_the_least_lagging_client_is_active_if_no_client_is_caught_up() -> None:
    assert ask(make_snapshot({"0_0": 100}, {"a": {"0_0": 50}, "b": {"0_0": 30}, "c": {}})) == {
        "a": " |  | 0_0!",
        "b": "0_0",
        "c": "",
    }


def test_lags_compare_as_they_are_reported() -> None:
    # An unknown lag (−3) counts as less than any lag, and is no reason to move away.
    assert ask(make_snapshot({"0_0": 100}, {"a": {"0_0": 50}, "b": {"0_0": -3}})) == {"a": " |  | 0_0!", "b": "0_0"}
    assert ask(make_snapshot({"0_0": 100}, {"a": {"0_0": -3}, "b": {"0_0": -2}})) == {"a": "0_0", "b": ""}
    # A client with an unknown lag is not caught up.
    assert ask(make_snapshot({"0_0": 100}, {"a": {}, "b": {"0_0": -3}, "c": {"0_0": 0}})) == {
        "a": " |  | 0_0!",
        "b": "",
        "c": "0_0",
    }
    # A client without a lag lags by the whole changelog, here less than a. On a tiny changelog an empty client is caught up.
    assert ask(make_snapshot({"0_0": 100}, {"a": {"0_0": 150}, "b": {}})) == {"a": " |  | 0_0!", "b": "0_0"}
    assert ask(make_snapshot({"0_0": 10}, {"a": {}, "b": {"0_0": -2}})) == {"a": "0_0", "b": ""}
    state = make_snapshot({"0_0": 100}, {"a": {}, "b": {"0_0": 200}, "c": {"0_0": 150}}, num_standby_replicas=1)
    assert ask(state) == {"a": "0_0!", "b": " |  | 0_0", "c": " | 0_0"}


def test_all_clients_are_caught_up_if_the_acceptable_lag_is_unlimited() -> None:
    clients = {"a": {"0_0": -2, "0_1": -2}, "b": {"0_1": -3}, "c": {}}
    state = make_snapshot(dict.fromkeys(("0_0", "0_1", "0_2"), MAX_LAG), clients, acceptable_recovery_lag=MAX_LAG)
    assert ask(state) == {"a": "0_0", "b": "0_1", "c": "0_2"}


def test_loads_are_per_thread_and_the_first_tasks_move() -> None:
    tasks = dict.fromkeys(("0_0", "0_1", "0_2", "0_3"), 10)
    assert ask(make_snapshot(tasks, {"a": {}, "b": {"threads": 3}})) == {"a": "0_2", "b": "0_0 0_1 0_3"}


def test_tasks_without_changelog_go_to_the_client_with_the_fewest_actives() -> None:
    tasks = {"0_0": 10, "1_0": "stateless", "1_1": "stateless", "2_0": "unlogged"}
    clients = {"a": {}, "b": {"threads": 2, "active": "1_0 1_1 2_0"}}
    assert ask(make_snapshot(tasks, clients, num_standby_replicas=1)) == {"a": "0_0 2_0", "b": "1_0 1_1 | 0_0"}


def test_more_standbys_than_clients_are_as_many_as_there_is_room_for() -> None:
    state = make_snapshot({"0_0": 10}, {"a": {}, "b": {}, "c": {}}, num_standby_replicas=9)
    assert ask(state) == {"a": "0_0", "b": " | 0_0", "c": " | 0_0"}


def test_one_client_and_no_tasks() -> None:
    one = make_snapshot({"0_0": 100, "1_0": "stateless"}, {"a": {"threads": 4}}, num_standby_replicas=2)
    assert ask(one) == {"a": "0_0 1_0"}
    assert ask(make_snapshot({}, {"a": {}, "b": {}})) == {"a": "", "b": ""}


def test_uuids_compare_by_signed_halves_as_in_java() -> None:
    low, high = "00000000-0000-4000-8000-000000000000", "f0000000-0000-4000-8000-000000000000"
    assert ask(make_snapshot({"0_0": 10}, {low: {}, high: {}})) == {low: "", high: "0_0"}
    assert ask(make_snapshot({"0_0": 10}, {low: {}, high + "0": {}})) == {low: "0_0", high + "0": ""}


def test_a_note_lists_unsupported_configs() -> None:
    def notes(**configs: Any) -> str:
        return " ".join(assign(make_snapshot({"0_0": 10}, {"a": {}, "b": {}}, **configs), "high-availability").report.notes)

    assert notes(num_standby_replicas=1) == ""
    assert notes(rack_aware_assignment_tags=["zone"]) == ""  # without standbys Kafka ignores tags
    assert "rack_aware_assignment_tags are not" in notes(rack_aware_assignment_tags=["zone"], num_standby_replicas=1)
    assert "rack_aware_assignment_strategy is not" in notes(rack_aware_assignment_strategy="min_traffic")


@pytest.mark.parametrize("spec", [Spec("partial", 40, 7, 2, threads=(1, 3), seed=1), Spec("scale-out", 60, 9, 1, seed=2)])
def test_hard_rules_hold_and_warmups_are_limited(spec: Spec) -> None:
    state = spec.generate()
    found = assign(state, "high-availability")
    assert not [str(v) for v in validate(state, found) if v.rule in ("format", "R1", "R2", "R4", "R6")]


class PlainQueue:
    """Kafka's ConstrainedPrioritySet as written: take clients until one is a candidate, and put back the others."""

    def __init__(self, copies: AssignedCopies, hashes: list[int]) -> None:
        self.copies, self.hashes = copies, hashes
        self.keys = [(copies.load(client), client) for client in range(len(hashes))]
        self.heap = JavaHeap(self.keys, range(len(hashes)))

    def take(self, candidates: list[int]) -> int | None:
        popped = self.heap.pop_until(candidates)
        found = popped.pop() if popped and popped[-1] in candidates else None
        for client in order_by_hash(popped, self.hashes):
            self.heap.add(client)
        return found

    def put_back(self, source: int, destination: int) -> None:
        for client in (source, destination):
            self.keys[client] = (self.copies.load(client), client)
        for client in (source, destination):
            if client in self.heap:
                self.heap.remove(client)
            self.heap.add(client)


def test_the_queue_answers_as_the_plain_one() -> None:
    passed_over = 0
    for seed in range(150):
        rng = Random(seed)
        number = rng.randint(2, 30)
        hashes = [rng.choice([rng.getrandbits(32), 16 * rng.randrange(8)]) for _ in range(number)]
        copies = AssignedCopies(2000, [rng.choice([1, 1, 2, 3]) for _ in range(number)])
        for task in range(number * 6):
            copies.assign("active", task, rng.randrange(number))
        fresh = iter(range(number * 6, 2000))
        queue, plain = LeastLoaded(copies, hashes), PlainQueue(copies, hashes)
        for step in range(60):
            candidates = rng.sample(range(number), min(number, rng.choice([0, 1, 2, 3, 8])))
            source = queue.take(candidates)
            assert source == plain.take(candidates), f"seed {seed}, step {step}"
            passed_over += source is not None and source != min(candidates, key=plain.keys.__getitem__)
            if source is None:
                source = rng.randrange(number)
            destination = rng.choice([client for client in range(number) if client != source])
            copies.assign("active", next(fresh), source)
            if copies.tasks["active"][destination] and rng.random() < 0.8:
                copies.unassign("active", min(copies.tasks["active"][destination]), destination)
            queue.put_back(source, destination)
            plain.put_back(source, destination)
    assert passed_over  # a plain minimum would not suffice
