"""Distinct tag values of standbys and active tasks (KIP-708), compared with the most that a balanced plan reaches.

An independent model finds the most, from the snapshot and the shares by which answers are judged. It shares no code with the
models of the assignors.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import product

from ortools.sat.python import cp_model

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.formats.task_id import TaskId
from optassign.generating import SHAPES, generate
from optassign.generating.dealing import NotBalancedError
from optassign.measuring.balance import Share, compute_shares, is_balanced
from optassign.measuring.placement import planned_placement, standbys_per_task
from optassign.measuring.spread import count_values_of_tags
from optassign_benchmarks.runner import Layout, Study, StudyCase, count, total

LARGE = "a tag, large"
KINDS = ("a tag", "nested tags", "crossing tags", LARGE)
_LARGE_EVERY = 16
"""One of this many snapshots is large: the independent model takes a minute for each."""


def make_snapshots(number: int) -> Iterator[tuple[str, ApplicationState]]:
    """Yield `number` kinds and snapshots, of all shapes and kinds in turn. A seventh of the clients has no value of the last
    tag.

    The large ones have more pairs of task and client than CP-SAT considers.
    """
    combinations = product(range(1_000_000), SHAPES)
    made = 0
    while made < number:
        seed, shape = next(combinations)
        rng = random.Random(f"{seed} {shape}")
        large = made % _LARGE_EVERY == _LARGE_EVERY - 1
        kind = LARGE if large else KINDS[(seed + SHAPES.index(shape)) % (len(KINDS) - 1)]
        tasks, clients = (240, 90) if large else (rng.randint(12, 60), rng.randint(4, 14))
        standbys, racks = rng.choice((1, 1, 2)), rng.randint(2, 4)
        try:
            state = generate(
                shape,
                tasks,
                clients,
                standbys,
                racks=racks,
                clusters=2,
                seed=seed,
                memory=rng.random() < 0.5,
                stateless=0.7 if large else 0.2,
            )
        except (NotBalancedError, ValueError):
            continue
        yield kind, with_tags(state, kind, rng)
        made += 1


def with_tags(state: ApplicationState, kind: str, rng: random.Random) -> ApplicationState:
    """Return the snapshot with the tags of its kind, in a random order; zones differ in size."""
    names = {"nested tags": ["zone", "region"], "crossing tags": ["zone", "cluster"]}.get(kind, ["zone"])
    rng.shuffle(names)
    clients = []
    for client in state.clients:
        zone = rng.choice([client.tags["zone"], client.tags["zone"], "r1"])
        tags = {**client.tags, "zone": zone, "region": "east" if zone in ("r1", "r2") else "west"}
        clients.append(
            client.model_copy(update={"tags": {k: v for k, v in tags.items() if k != names[-1] or rng.random() > 1 / 7}})
        )
    configs = state.configs.model_copy(update={"rack_aware_assignment_tags": tuple(names)})
    return state.model_copy(update={"clients": tuple(clients), "configs": configs})


def find_most(state: ApplicationState) -> list[int]:
    """Return the most distinct values of each tag that a balanced plan can have, maximised lexicographically from the first tag
    on."""
    model, within, copies = cp_model.CpModel(), compute_shares(state), standbys_per_task(state) + 1
    clients = [client.process_id for client in state.clients]
    active = {(task.id, c): model.new_bool_var("") for task in state.tasks for c in clients}
    held = {(task.id, c): model.new_bool_var("") for task in state.tasks if task.logged for c in clients}
    for task in state.tasks:
        model.add_exactly_one(active[task.id, c] for c in clients)
        if task.logged:
            model.add(sum(held[task.id, c] for c in clients) == copies)
            for c in clients:
                model.add_implication(active[task.id, c], held[task.id, c])

    def keep(share: Share, counted: list[cp_model.IntVar]) -> None:
        if counted:
            model.add_linear_constraint(sum(counted), *share)

    for c in clients:
        keep(within.active[c], [active[task.id, c] for task in state.tasks])
        keep(within.stateful_active[c], [active[task.id, c] for task in state.tasks if task.stateful])
        keep(within.copies[c], [held[task.id, c] for task in state.tasks if task.logged])
        for key, group in within.subtopology_active.items():
            keep(group[c], [active[task.id, c] for task in state.tasks if TaskId.parse(task.id).subtopology_key == key])
        for key, group in within.subtopology_copies.items():
            keep(
                group[c],
                [held[task.id, c] for task in state.tasks if task.logged and TaskId.parse(task.id).subtopology_key == key],
            )
    most = []
    for tag in state.configs.rack_aware_assignment_tags:
        reached = []
        for value in sorted({client.tags[tag] for client in state.clients if tag in client.tags}):
            there = [client.process_id for client in state.clients if client.tags.get(tag) == value]
            for task in (task for task in state.tasks if task.logged):
                reached.append(model.new_bool_var(""))
                model.add_bool_or([*(held[task.id, c] for c in there), ~reached[-1]])
        model.maximize(sum(reached))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.subsolvers.append("max_lp")
        status = solver.solve(model)
        if status != cp_model.OPTIMAL:
            raise RuntimeError(f"{state.application}: the independent model ended with {solver.status_name(status)}")
        most.append(round(solver.objective_value))
        model.add(sum(reached) >= most[-1])
    return most


def reached_by(state: ApplicationState, given: TaskAssignment) -> list[int]:
    """Return the distinct values of each tag that the answer's plan reaches, or the answer itself without a plan."""
    return [reached for reached, _ in count_values_of_tags(state, planned_placement(state, given))]


def _add_most(state: ApplicationState) -> tuple[ApplicationState, list[int]]:
    return state, find_most(state)


def reach(case: tuple[ApplicationState, list[int]], assignor: str) -> dict[str, object]:
    """Return the values that the assignor's plan reaches, the most, and whether the goal is proven and the plan balanced."""
    state, most = case
    given = assign(state, assignor)
    return {
        "reached": reached_by(state, given),
        "most": most,
        "is_proven": any(goal.name == "tag_spread" and goal.proven for goal in given.report.goals),
        "is_balanced": is_balanced(state, planned_placement(state, given)),
    }


TAGS = Study(
    cases=lambda quick: sorted(
        (
            StudyCase(partial(_add_most, state), {"kind": kind, "snapshot": number})
            for number, (kind, state) in enumerate(make_snapshots(40 if quick else 200))
        ),
        key=lambda case: KINDS.index(case.facts["kind"]),
    ),
    assignors=("cp-sat", "greedy", "kafka-high-availability"),
    parts=(reach,),
    layouts=(
        Layout(
            {"tags": "kind", "assignor": "assignor"},
            {
                "snapshots": len,
                "values reached": lambda rows: sum(sum(row.reached) for row in rows),
                "reachable in balance": lambda rows: sum(sum(row.most) for row in rows),
                "snapshots at that": count(lambda row: row.reached == row.most),
                "proven": total("is_proven"),
                "balanced": total("is_balanced"),
            },
        ),
    ),
    demands=lambda rows: (
        f"{row}: reached {row.reached}, reachable {row.most}"
        for row in rows
        if row.assignor == "cp-sat" and row.reached != row.most
    ),
    jobs=1,
)
