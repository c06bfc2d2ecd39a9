"""POP's experiment: shards stay balanced on servers while the skew of their load changes in every round.

Source: D. Narayanan et al., Solving Large-Scale Granular Resource Allocation Problems Efficiently with POP, SOSP 2021; the
parameters are in `load_balancing/` of the repository stanford-futuredata/POP. Shards are logged tasks without standbys, all of
one size, and servers are clients with one thread. As in the paper, a round ends with every planned move made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from math import ceil

import numpy as np

from optassign.assignor import create
from optassign.formats.configs import AssignmentConfigs, Options
from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState, TaskInfo
from optassign.measuring.load import Loads
from optassign.measuring.placement import TaskPlacement, planned_placement
from optassign_benchmarks.runner import Layout, Study, StudyCase, StudyRow, first

SIZE, ROUNDS, LEFT_OUT = (1_024, 128), 100, 20
"""Shards and servers; rounds; and the number of first rounds that the means exclude, as in the paper."""
QUICK = (128, 16), 12, 2
EXPONENTS = (0.25, 0.75)
"""The range of Zipf exponents: the shard of rank i has load i^-z, and each round draws z uniformly from the range."""
TOLERANCE = 0.05
STATE = 100_000
"""Offsets of each shard; restore work ÷ this is a number of moves."""
SEED, LIMIT_S = 42, 30.0
HOTTEST = "hottest shard first"
Decide = Callable[[ApplicationState], tuple[dict[str, str], float | None]]
"""Returns shard → server, and a lower bound of the offsets that must move, or None."""


@dataclass(frozen=True)
class Round:
    """The result of one round; `load` is the greatest load ÷ its lower bound, `bound` a lower bound of `moves`."""

    moves: int
    bound: int | None
    seconds: float
    processor_seconds: float
    load: float
    most_shards: int


def make_shards(shards: int, servers: int) -> ApplicationState:
    """Return servers with equal numbers of shards of equal load, all in place."""
    owned = {f"s{s:04}": tuple(f"0_{shard}" for shard in range(s, shards, servers)) for s in range(servers)}
    return ApplicationState(
        format=1,
        configs=AssignmentConfigs(),
        options=Options(load_tolerance=TOLERANCE, min_gain=0.0),
        tasks=tuple(TaskInfo(id=f"0_{shard}", stateful=True, changelog_end_offset=STATE) for shard in range(shards)),
        clients=tuple(
            KafkaStreamsState(process_id=name, threads=1, previous_active=mine, lags=dict.fromkeys(mine, RUNNING))
            for name, mine in owned.items()
        ),
    )


def play(shards: int, servers: int, decide: Decide) -> Iterator[Round]:
    """Yield rounds endlessly: draw the loads, decide, move."""
    state, dice = make_shards(shards, servers), np.random.default_rng(SEED)
    while True:
        exponent = dice.uniform(*EXPONENTS)
        weights = {f"0_{shard}": round(1_000 * (shard + 1) ** -exponent, 3) for shard in range(shards)}
        asked = state.model_copy(
            update={"tasks": tuple(task.model_copy(update={"weight": weights[task.id]}) for task in state.tasks)}
        )
        start, processor = time.perf_counter(), time.process_time()
        target, bound = decide(asked)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        owner = {task: client.process_id for client in asked.clients for task in client.previous_active}
        moves = sum(owner[task] != server for task, server in target.items())
        state = _move(asked, target)
        loads, none = Loads(state), dict.fromkeys(target, ())
        placed = TaskPlacement({task: (server,) for task, server in target.items()}, none, none)
        yield Round(
            moves=moves,
            bound=None if bound is None else ceil(bound / STATE),
            seconds=seconds,
            processor_seconds=processor,
            load=loads.find_greatest(placed) / loads.least_possible,
            most_shards=max(len(client.previous_active) for client in state.clients),
        )


def move_hottest(state: ApplicationState) -> tuple[dict[str, str], None]:
    """Return the placement of a common heuristic: overloaded servers give their hottest shards to the coolest server.

    A shard moves if the coolest server stays within the tolerance. The even load excludes shards that are too hot for any
    server, as for the assignors. POP compares with this kind of heuristic.
    """
    weight = {task.id: task.weight for task in state.tasks}
    owned = {client.process_id: sorted(client.previous_active, key=lambda task: -weight[task]) for client in state.clients}
    target = {task: server for server, mine in owned.items() for task in mine}
    load = {server: sum(weight[task] for task in mine) for server, mine in owned.items()}
    most = (1 + TOLERANCE) * Loads(state).even_spread
    for server in sorted(owned, key=lambda server: -load[server]):
        for task in owned[server]:
            coolest = min(load, key=lambda other: load[other])
            if load[server] > most and load[coolest] + weight[task] <= most:
                target[task] = coolest
                load[server] -= weight[task]
                load[coolest] += weight[task]
    return target, None


def ask(assignor: str) -> Decide:
    """Return a function that decides by an assignor: the placement of its plan, and its bound of restore work."""

    def decide(state: ApplicationState) -> tuple[dict[str, str], float | None]:
        answer = create(assignor, time_limit=LIMIT_S).assign(state)
        known = {goal.stage: goal.bound for goal in answer.report.goals if goal.name == "restore_work"}
        bound = known.get("plan", known.get("now"))
        return {task: clients[0] for task, clients in planned_placement(state, answer).active.items()}, bound

    return decide


def _move(state: ApplicationState, target: dict[str, str]) -> ApplicationState:
    """Return the snapshot with every shard on its server."""
    owned: dict[str, list[str]] = {client.process_id: [] for client in state.clients}
    for task in state.tasks:
        owned[target[task.id]].append(task.id)
    clients = tuple(
        client.model_copy(
            update={
                "previous_active": tuple(owned[client.process_id]),
                "lags": dict.fromkeys(owned[client.process_id], RUNNING),
            }
        )
        for client in state.clients
    )
    return state.model_copy(update={"clients": clients})


def measure_rounds(experiment: tuple[tuple[int, int], int, int], name: str) -> dict[str, object]:
    """Return the means over the counted rounds, under an assignor or the heuristic."""
    (shards, servers), rounds, left_out = experiment
    played = list(islice(play(shards, servers, move_hottest if name == HOTTEST else ask(name)), rounds))[left_out:]
    bounds = [each.bound for each in played if each.bound is not None]
    return {
        "moves": np.mean([each.moves for each in played]),
        "bound": np.mean(bounds) if len(bounds) == len(played) else None,
        "ms": 1_000 * np.mean([each.seconds for each in played]),
        "processor_ms": 1_000 * np.mean([each.processor_seconds for each in played]),
        "load": np.mean([each.load for each in played]),
        "most_load": max(each.load for each in played),
        "beyond": sum(each.load > (1 + TOLERANCE) * (1 + 1e-6) for each in played),
        "most_shards": max(each.most_shards for each in played),
    }


def _show(name: str, form: str) -> Callable[[list[StudyRow]], str]:
    return lambda rows: "–" if rows[0][name] is None else format(rows[0][name], form)


SHARDS = Study(
    cases=lambda quick: [StudyCase(partial(tuple, QUICK if quick else (SIZE, ROUNDS, LEFT_OUT)))],
    assignors=("cp-sat", "greedy", HOTTEST),
    parts=(measure_rounds,),
    layouts=(
        Layout(
            {"decided by": "assignor"},
            {
                "moves a round": _show("moves", ".1f"),
                "bound of moves": _show("bound", ".1f"),
                "ms a round": _show("ms", ",.0f"),
                "of processor time": _show("processor_ms", ",.0f"),
                "greatest load ÷ least possible, mean": _show("load", ".3f"),
                "the same, most": _show("most_load", ".3f"),
                "rounds beyond 5%": first("beyond"),
                "most shards on a server": first("most_shards"),
            },
        ),
    ),
    demands=lambda rows: (
        f"{row.assignor}: {row.beyond} rounds beyond the tolerance" for row in rows if row.beyond and row.assignor != HOTTEST
    ),
    jobs=1,
)
