"""Tests that `most_state` decides slots: no warm-up starts on a client without room, unless all copies wait for room."""

from __future__ import annotations

import random
from typing import Any

import pytest
from holding import ASSIGNORS, list_actives, play

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.measuring.placement import TaskPlacement, count_state

SIZE = 1_000_000
BEYOND, WAIT = "a warm-up goes beyond a limit: ", "warm-ups wait for room: "


def make_group(running: dict[str, str], pins: dict[str, str], *, most: int, clients: str = "abc") -> ApplicationState:
    """Return a group of logged tasks of equal size, with their clients and pins; a client has room for `most` of them."""
    rows = []
    for client in clients:
        mine = [task for task, runs_on in running.items() if runs_on == client]
        rows.append({"process_id": client, "threads": 2, "previous_active": mine, "lags": dict.fromkeys(mine, -2)})
    limits: list[dict[str, Any]] = [{"kind": "most_state", "name": "disk", "most": most * SIZE}]
    limits += [{"kind": "pin", "name": f"pin {task}", "tasks": [task], "clients": [to]} for task, to in pins.items()]
    tasks = [{"id": task, "stateful": True, "logged": True, "changelog_end_offset": SIZE} for task in running]
    configs = {"num_standby_replicas": 0, "max_warmup_replicas": 4, "acceptable_recovery_lag": 100}
    return ApplicationState.model_validate(
        {"format": 1, "configs": configs, "options": {"limits": limits}, "tasks": tasks, "clients": rows}
    )


def list_warmups(answer: TaskAssignment) -> list[tuple[str, str]]:
    return [(task, client.process_id) for client in answer.clients for task in client.warmup]


def list_notes(answer: TaskAssignment, begin: str) -> list[str]:
    return [note for note in answer.report.notes if note.startswith(begin)]


def find_disk(answer: TaskAssignment) -> bool:
    return next(row.kept for row in answer.report.limits if row.name == "disk")


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_full_client_gives_before_it_takes(assignor: str) -> None:
    state = make_group({"0_0": "a", "0_1": "b"}, {"0_0": "b", "0_1": "c"}, most=1)
    played = [answer for _, answer in play(state, assignor)]
    assert list_warmups(played[0]) == [("0_1", "c")]
    assert list_notes(played[0], WAIT) == [
        f"{WAIT}1 until others have left their clients: disk (at most {SIZE} offsets of state on every client)"
    ]
    assert list_warmups(played[1]) == [("0_0", "b")]
    assert list_actives(played[-1]) == {"0_0": "b", "0_1": "c"}
    assert all(find_disk(answer) for answer in played)
    assert not any(list_notes(answer, BEYOND) for answer in played)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_two_full_clients_that_swap_exceed_the_limit_one_by_one_with_a_note(assignor: str) -> None:
    state = make_group({"0_0": "a", "0_1": "b"}, {"0_0": "b", "0_1": "a"}, most=1, clients="ab")
    played = [answer for _, answer in play(state, assignor)]
    assert [len(list_warmups(answer)) for answer in played[:2]] == [1, 1]
    assert not find_disk(played[0])
    (note,) = list_notes(played[0], BEYOND)
    assert note.startswith(f"{BEYOND}0_0 on b, nothing else brings the group nearer to its plan: disk (at most {SIZE} offsets")
    assert list_actives(played[-1]) == {"0_0": "b", "0_1": "a"}
    assert find_disk(played[-1])


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_copies_that_fit_singly_warm_up_singly(assignor: str) -> None:
    running = {"0_0": "a", "0_1": "a", "0_2": "b", "0_3": "b"}
    state = make_group(running, {"0_0": "b", "0_1": "b", "0_2": "c", "0_3": "c"}, most=3)
    first = assign(state, assignor)
    assert len([copy for copy in list_warmups(first) if copy[1] == "b"]) == 1
    assert len([copy for copy in list_warmups(first) if copy[1] == "c"]) == 2
    assert find_disk(first)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_a_stalled_copy_does_not_block_copies_that_wait_for_room(assignor: str) -> None:
    """Client c restores nothing: after three answers the copy that waits for room gets a slot beyond the limit."""
    state = make_group({"0_0": "a", "0_1": "b"}, {"0_0": "b", "0_1": "c"}, most=1)
    for _ in range(6):
        answer = assign(state, assignor)
        if list_notes(answer, BEYOND):
            break
        assert list_warmups(answer) == [("0_1", "c")]
        state = state.model_copy(update={"remembered": answer})
    assert ("0_0", "b") in list_warmups(answer)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_copies_that_restore_in_their_place_are_waited_for_until_they_stall(assignor: str) -> None:
    """Client c restores 0_2 in its place: a and b, both full, swap when it has made no progress in three answers."""
    state = make_group({"0_0": "a", "0_1": "b", "0_2": "c"}, {"0_0": "b", "0_1": "a"}, most=1)
    *others, c = state.clients
    state = state.model_copy(update={"clients": (*others, c.model_copy(update={"lags": {"0_2": SIZE // 2}}))})
    waited = []
    for _ in range(4):
        answer = assign(state, assignor)
        waited.append(not list_notes(answer, BEYOND))
        assert bool(list_warmups(answer)) != waited[-1]
        state = state.model_copy(update={"remembered": answer})
    assert waited == [True, True, True, False]


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("seed", range(20))
def test_no_warm_up_exceeds_a_limit_without_a_note(assignor: str, seed: int) -> None:
    """Tasks are permuted at random on disks that are full or nearly full."""
    dice = random.Random(seed)
    clients, each = "abcde"[: dice.randint(3, 5)], dice.randint(2, 4)
    places = [client for client in clients for _ in range(each)]
    tasks = [f"0_{number}" for number in range(len(places))]
    targets = dice.sample(places, len(places))
    most = each + dice.randint(0, 1)
    state = make_group(
        dict(zip(tasks, places, strict=True)), dict(zip(tasks, targets, strict=True)), most=most, clients=clients
    )
    played = play(state, assignor)  # fails unless the group becomes stable
    for now, answer in played:
        before = set() if now.remembered is None else set(list_warmups(now.remembered))
        kept = count_state(now, TaskPlacement.of(now, answer), warmups=True)
        over = {client for task, client in list_warmups(answer) if kept[client] > most * SIZE and (task, client) not in before}
        reported = {note.split(" on ")[1].split(",")[0] for note in list_notes(answer, BEYOND)}
        assert over <= reported, (seed, now.taken_at)
        assert len(reported) <= 1, seed
    assert find_disk(played[-1][1]), seed
    assert list_actives(played[-1][1]) == dict(zip(tasks, targets, strict=True)), seed
