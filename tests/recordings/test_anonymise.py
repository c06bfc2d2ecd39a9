"""Tests that an anonymised snapshot has no name left and is the same problem."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optassign.formats.json_input import read_state
from optassign.formats.state import ApplicationState
from optassign.recordings.anonymise import anonymise
from optassign.utilities import default_standby_task_assignment, identity_assignment

RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "kafka-4.3.1").glob("*.json"))
NAMED: dict[str, Any] = {
    "format": 1,
    "application": "secret-app",
    "taken_at": "2026-11-20T15:20:01Z",
    "x_top": "secret-x",
    "configs": {"num_standby_replicas": 2, "rack_aware_assignment_tags": ["secret-zone", "secret-2"], "x_c": "secret"},
    "options": {
        "goals": ["load"],
        "balance_factor": 3,
        "weights": {"instance": 7, "x_w": "secret-w"},
        "weigh_by": "rates",
        "task_weights": {"secret-a__0_11": 2, "secret-b__10": 3, "0": 4, "secret-nobody__0": 5},
    },
    "tasks": [
        {
            "id": f"{name}{subtopology}_{partition}",
            "stateful": True,
            "changelog_end_offset": 100 * partition,
            "source_end_offset": 1000 * partition,
            "weight": 1.5,
            "x_stores": ["secret-store"],
            "partitions": [
                {"topic": f"secret-topic-{subtopology}", "partition": partition, "racks": ["secret-r2", "secret-r1"]},
                {"topic": "secret-log", "partition": partition, "changelog": True, "source": partition == 2},
            ],
        }
        for name in ("", "secret-b__", "secret-a__")
        for subtopology in (0, 10)
        for partition in (0, 2, 11)
    ],
    "clients": [
        {
            "process_id": f"secret-{i}",
            "threads": i,
            "consumers": {f"secret-consumer-{i}": ["0_2"]},
            "previous_active": ["secret-a__0_11", "0_2"],
            "previous_standby": ["secret-b__10_2"],
            "lags": {"secret-a__0_11": 5 * i, "0_2": -2, "secret-b__10_2": -3},
            "tags": {"secret-zone": f"secret-{i % 2}", "secret-other": "secret-1"},
            "rack": f"secret-r{i}",
            "host": "secret-host:80",
            "client_id": "secret-client-id",
            "capacity": 0.5,
            "draining": i == 3,
        }
        for i in (9, 3, 10)
    ],
    "remembered": {
        "format": 1,
        "assignor": "secret-assignor",
        "clients": [
            {"process_id": "secret-gone", "active": ["0_2"], "warmup": ["0_11"], "followup_rebalance_ms": 1000},
            {"process_id": "secret-3", "standby": ["secret-a__0_0"]},
        ],
        "plan": [{"process_id": "secret-planned", "active": ["0_0"], "standby": ["0_2"]}],
        "report": {
            "notes": ["secret-note"],
            "termination": {"detail": "secret-detail"},
            "waiting": [{"task": "0_11", "process_id": "secret-waits", "role": "standby", "lag": 4, "slot": True}],
            "warmup_progress": [{"task": "0_11", "process_id": "secret-9", "lag": 4, "answers_without_progress": 2}],
            "pace": {
                "taken_at": "2026-11-20T15:19:51Z",
                "clients": [{"process_id": "secret-9", "offsets": 500, "ms": 1000, "evidence": "bound", "x_p": "secret-x"}],
                "looks": 1,
                "counted_at": "2026-11-20T15:19:01Z",
            },
            "rates": {
                "taken_at": "2026-11-20T15:19:51Z",
                "tasks": [{"task": "secret-a__0_11", "end_offset": 7, "per_second": 1.5, "measured": 0.25}],
            },
            "stalled": True,
            "balanced": True,
            "x_r": "secret-r",
        },
    },
}


def make_named_state() -> ApplicationState:
    return ApplicationState.model_validate(NAMED)


def list_places(state: ApplicationState) -> dict[str, str]:
    """Return the place of each task and client in the order, as text, by id."""
    ids = [*(task.id for task in state.tasks), *(client.process_id for client in state.clients)]
    return {name: str(place) for place, name in enumerate(ids)}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_no_name_of_a_recording_is_left(path: Path) -> None:
    original = json.loads(path.read_text(encoding="utf-8"))
    written = anonymise(read_state(path)).model_dump_json()
    names = {original["application"]}
    for client in original["clients"]:
        names |= {client["process_id"], client["rack"], *client["consumers"], *client["tags"], *client["tags"].values()}
    for task in original["tasks"]:
        names |= {partition["topic"] for partition in task["partitions"]}
        names |= {rack for partition in task["partitions"] for rack in partition["racks"]}
    assert len(names) > 5
    assert [name for name in names if f'"{name}"' in written] == []
    assert '"x_' not in written


def test_no_name_is_left_anywhere() -> None:
    assert "secret" in make_named_state().model_dump_json()
    assert "secret" not in anonymise(make_named_state()).model_dump_json()


def test_numbers_and_settings_stay() -> None:
    before, after = make_named_state(), anonymise(make_named_state())
    kept = {"weights": after.options.weights.model_dump(), "task_weights": after.options.task_weights}
    assert after.options.model_dump() == {**before.options.model_dump(), **kept}
    assert {task.weight for task in after.tasks} >= {2, 3, 4}
    assert sorted(after.options.task_weights.values()) == [2, 3, 4], "what nobody is called says nothing"
    assert after.options.weights.instance == 7
    assert after.configs.num_standby_replicas == 2
    assert after.dropped == before.dropped
    for task, other in zip(before.tasks, after.tasks, strict=True):
        assert other.task_id[1:] == task.task_id[1:]
        assert (other.stateful, other.logged, other.weight) == (task.stateful, task.logged, task.weight)
        assert other.changelog_end_offset == task.changelog_end_offset
        assert other.source_end_offset == task.source_end_offset
        for partition, twin in zip(task.partitions, other.partitions, strict=True):
            assert twin.partition == partition.partition
            assert (twin.source, twin.changelog) == (partition.source, partition.changelog)
    for client, same in zip(before.clients, after.clients, strict=True):
        assert (same.threads, same.capacity, same.draining) == (client.threads, client.capacity, client.draining)
        assert list(same.lags.values()) == list(client.lags.values())


def test_equality_and_order_of_names_stay() -> None:
    before, after = make_named_state(), anonymise(make_named_state())
    old, new = list_places(before), list_places(after)
    for client, twin in zip(before.clients, after.clients, strict=True):
        assert [new[task] for task in twin.lags] == [old[task] for task in client.lags]
        assert [new[task] for task in twin.previous_active] == [old[task] for task in client.previous_active]
        assert [new[task] for task in twin.previous_standby] == [old[task] for task in client.previous_standby]
        assert [[new[task] for task in ids] for ids in twin.consumers.values()] == [
            [old[task] for task in ids] for ids in client.consumers.values()
        ]
    lists: list[Callable[[ApplicationState], list[str]]] = [
        lambda state: [task.task_id.name for task in state.tasks],
        lambda state: [str(client.rack) for client in state.clients],
        lambda state: [tag for client in state.clients for tag in client.tags],
        lambda state: [value for client in state.clients for value in client.tags.values()],
        lambda state: [str(partition.topic) for task in state.tasks for partition in task.partitions],
        lambda state: [rack for task in state.tasks for partition in task.partitions for rack in partition.racks],
    ]
    for names in lists:
        assert _rank_names(names(after)) == _rank_names(names(before))
        assert len(set(names(before))) > 1, "equal names could not show their order"
    configured = after.configs.rack_aware_assignment_tags
    assert len(configured) == 2
    assert sum(tag in configured for client in after.clients for tag in client.tags) == 3  # secret-zone of each client


def test_order_stays_when_numbers_grow_longer() -> None:
    many = {**NAMED, "remembered": None, "clients": [{"process_id": f"p{i:03}", "threads": i + 1} for i in range(120)]}
    assert [client.threads for client in anonymise(ApplicationState.model_validate(many)).clients] == [*range(1, 121)]


def test_the_remembered_answer_is_mapped_with_the_rest() -> None:
    before, after = make_named_state().remembered, anonymise(make_named_state()).remembered
    assert before is not None
    assert after is not None
    old, new = list_places(make_named_state()), list_places(anonymise(make_named_state()))
    assert [[new[t] for t in (*c.active, *c.standby, *c.warmup)] for c in after.clients] == [
        [old[t] for t in (*c.active, *c.standby, *c.warmup)] for c in before.clients
    ]
    assert [new.get(c.process_id) for c in after.clients] == [old.get(c.process_id) for c in before.clients]
    assert [c.followup_rebalance_ms for c in after.clients] == [c.followup_rebalance_ms for c in before.clients]
    assert after.plan is not None
    assert [new[t] for c in after.plan for t in (*c.active, *c.standby)] == [old["0_0"], old["0_2"]]
    assert after.report.stalled
    assert after.report.balanced
    progress, waiting = after.report.warmup_progress[0], after.report.waiting[0]
    assert (new[progress.task], new[progress.process_id]) == (old["0_11"], old["secret-9"])
    assert (progress.lag, progress.answers_without_progress) == (4, 2)
    assert (new[waiting.task], waiting.role, waiting.lag, waiting.slot) == (old["0_11"], "standby", 4, True)
    assert waiting.process_id not in new


@pytest.mark.parametrize(
    "state", [make_named_state(), *map(read_state, RECORDINGS)], ids=["named", *(p.stem for p in RECORDINGS)]
)
def test_the_same_answer_comes_out_up_to_names(state: ApplicationState) -> None:
    def answer(of: ApplicationState) -> list[tuple[list[str], list[str]]]:
        place = list_places(of)
        answers = default_standby_task_assignment(of, identity_assignment(of))
        return [([place[t] for t in c.active], [place[t] for t in c.standby]) for c in answers.values()]

    assert answer(anonymise(state)) == answer(state)
    assert anonymise(anonymise(state)) == anonymise(state)


def _rank_names(names: list[str]) -> list[int]:
    order = sorted(set(names))
    return [order.index(name) for name in names]


def test_times_are_as_far_apart_as_they_were() -> None:
    state = anonymise(make_named_state())
    assert state.taken_at == "2000-01-01T00:00:00.000+00:00"
    assert state.remembered is not None
    pace = state.remembered.report.pace
    assert pace is not None
    assert [client.evidence for client in pace.clients] == ["bound"]
    rates = state.remembered.report.rates
    assert rates is not None
    assert rates.taken_at == pace.taken_at
    assert [(row.end_offset, row.per_second, row.measured) for row in rates.tasks] == [(7, 1.5, 0.25)]
    assert {row.task for row in rates.tasks} <= {task.id for task in state.tasks}
    assert (pace.taken_at, pace.counted_at) == ("1999-12-31T23:59:50.000+00:00", "1999-12-31T23:59:00.000+00:00")
