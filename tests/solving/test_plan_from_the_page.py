"""Tests of plans against a second implementation of docs/reference/rules.md: from the JSON, one goal after the other.

It shares no code with optassign. Each function cites the section that it implements. An ambiguous section would show here as a
plan with other values.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from math import ceil, floor
from typing import Any

import pytest
from ortools.sat.python import cp_model

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import Shape, generate
from optassign.simulation.successors import make_restored_snapshot

Snapshot = dict[str, Any]
MOST = 2**63 - 1
GOALS = ("restore_work", "copies_not_caught_up", "actives_not_caught_up", "active_migrations", "standby_migrations")


def whole_changelog(s: Snapshot, task: Snapshot) -> int:
    """docs/reference/rules.md, "Whole changelog"."""
    if task.get("changelog_end_offset") is not None:
        return int(task["changelog_end_offset"])
    reported: list[int] = [client["lags"][task["id"]] for client in s["clients"] if task["id"] in client["lags"]]
    return min(1 + max([int(s["configs"]["acceptable_recovery_lag"]), *reported]), MOST)


def rank_and_offsets(s: Snapshot, task: Snapshot, client: Snapshot) -> tuple[int, int]:
    """docs/reference/rules.md, "Lag" and "Rank"."""
    if not task["logged"]:
        return 0, 0
    holder = task["id"] in client["previous_active"] + client["previous_standby"]
    lag = client["lags"].get(task["id"])
    whole, acceptable = whole_changelog(s, task), s["configs"]["acceptable_recovery_lag"]
    offsets = 0 if lag == -2 or (lag == -3 and holder) else whole if lag in (-3, None) else lag
    if acceptable == MOST or lag == -2:
        return 0, offsets
    if lag == -3:
        return (1 if holder else 2), offsets
    return (0 if offsets <= acceptable else offsets), offsets


def restore_cost(s: Snapshot, task: Snapshot, client: Snapshot) -> int:
    """docs/reference/rules.md, "Restore cost"."""
    rank, offsets = rank_and_offsets(s, task, client)
    return 0 if rank == 0 else offsets


def count_standbys(s: Snapshot) -> int:
    """docs/reference/rules.md, "R4 Number of standbys"."""
    return min(int(s["configs"]["num_standby_replicas"]), len(s["clients"]) - 1)


def share(s: Snapshot, tasks: int, copies: int, client: Snapshot, factor: int) -> tuple[int, int]:
    """docs/reference/rules.md, "Shares", if no client drains: water filling over threads × capacity."""
    units = {c["process_id"]: Fraction(round(c["threads"] * c["capacity"] * 1_000_000)) for c in s["clients"]}
    full: set[str] = set()
    while True:
        left = Fraction(tasks * copies - tasks * len(full))
        total = sum(units[name] for name in units if name not in full)
        shares = {name: Fraction(tasks) if name in full else left * units[name] / total for name in units}
        above = {name for name, share in shares.items() if share > tasks} - full
        if not above:
            break
        full |= above
    share = shares[client["process_id"]]
    return max(0, floor(share) - floor(Fraction(factor - 1, 2))), ceil(share) + ceil(Fraction(factor - 1, 2))


def subtopology(task: Snapshot) -> str:
    return str(task["id"]).rpartition("_")[0]


class TargetByRules:
    """docs/reference/rules.md, "The target": R1, R2, R4 and the shares; goals (b) to (f), each among the optima of those
    before."""

    def __init__(self, s: Snapshot) -> None:
        self.s, self.model = s, cp_model.CpModel()
        self.tasks, self.clients = s["tasks"], s["clients"]
        pairs = [(t["id"], c["process_id"]) for t in self.tasks for c in self.clients]
        self.active = {pair: self.model.new_bool_var("") for pair in pairs}
        self.standby = {pair: self.model.new_bool_var("") for pair in pairs}
        for t in self.tasks:
            names = [(t["id"], c["process_id"]) for c in self.clients]
            self.model.add_exactly_one(self.active[n] for n in names)  # R1
            self.model.add(sum(self.standby[n] for n in names) == (count_standbys(s) if t["logged"] else 0))  # R4
            for n in names:
                self.model.add_at_most_one(self.active[n], self.standby[n])  # R2
        self.keep_shares()

    def keep_shares(self) -> None:
        """docs/reference/rules.md, "Balanced": the five families."""
        groups: dict[str, list[Snapshot]] = {}
        for t in self.tasks:
            groups.setdefault(subtopology(t), []).append(t)
        stateful, logged = [t for t in self.tasks if t["stateful"]], [t for t in self.tasks if t["logged"]]
        families = [(self.tasks, False, True), (stateful, False, True), (logged, True, True)]
        families += [(group, False, False) for group in groups.values()]
        families += [(group, True, False) for group in groups.values() if group[0]["logged"]]
        for tasks, copies, per_client in families:
            for c in self.clients:
                factor = self.s["options"]["balance_factor"] if per_client else 1
                low, high = share(self.s, len(tasks), count_standbys(self.s) + 1 if copies else 1, c, factor)
                held = [self.active[t["id"], c["process_id"]] for t in tasks]
                if copies:
                    held += [self.standby[t["id"], c["process_id"]] for t in tasks]
                self.model.add_linear_constraint(sum(held), low, high)

    def copy(self, task: Snapshot, client: Snapshot) -> Any:
        pair = (task["id"], client["process_id"])
        return self.active[pair] + self.standby[pair]

    def measure(self, goal: str) -> Any:
        """docs/reference/rules.md, "The target", the table of goals."""
        if goal in ("restore_work", "copies_not_caught_up"):
            return sum((self.paid_for(t, goal) for t in self.tasks if t["logged"]), start=0)
        total: Any = 0
        for t in self.tasks:
            owners = [c for c in self.clients if t["id"] in c["previous_active"]]
            for c in self.clients:
                pair = (t["id"], c["process_id"])
                cold = rank_and_offsets(self.s, t, c)[0] > 0
                starts_elsewhere = c not in owners if owners else cold
                if (goal == "actives_not_caught_up" and cold) or (goal == "active_migrations" and starts_elsewhere):
                    total += self.active[pair]
                if goal == "standby_migrations" and t["logged"] and not self.is_new(t) and self.has_moved(t, c):
                    total += self.standby[pair]
        return total

    def paid_for(self, t: Snapshot, goal: str) -> Any:
        """Return goal (b) or (c) of a task, an expression: copies that the target wants or R3–R5 force, each counted once."""
        ranks = {c["process_id"]: rank_and_offsets(self.s, t, c)[0] for c in self.clients}
        last = sorted(ranks.values())[count_standbys(self.s)]
        forced = [c for c in self.clients if ranks[c["process_id"]] < last]
        tied = [c for c in self.clients if ranks[c["process_id"]] == last]
        cost = {c["process_id"]: restore_cost(self.s, t, c) if goal == "restore_work" else int(ranks[c["process_id"]] > 0)
                for c in self.clients}  # fmt: skip
        total: Any = sum(cost[c["process_id"]] for c in forced)
        total += sum(cost[c["process_id"]] * self.copy(t, c) for c in self.clients if ranks[c["process_id"]] > last)
        open_places = count_standbys(self.s) + 1 - len(forced)
        each = {cost[c["process_id"]] for c in tied}
        assert len(each) == 1, "ranks 1 and 2 that meet real lags do not occur here"
        beyond = self.model.new_int_var(0, len(tied), "")
        self.model.add(beyond >= sum(self.copy(t, c) for c in tied) - open_places)
        return total + each.pop() * (open_places + beyond)

    def is_new(self, t: Snapshot) -> bool:
        """docs/reference/rules.md, "What was assigned before"."""
        held = any(t["id"] in c["previous_active"] + c["previous_standby"] for c in self.clients)
        named = [c["active"] + c["standby"] + c["warmup"] for c in (self.s["remembered"] or {"clients": []})["clients"]]
        return not held and not any(t["id"] in tasks for tasks in named)

    def has_moved(self, t: Snapshot, client: Snapshot) -> bool:
        """docs/reference/rules.md, "What was assigned before"."""
        if self.s["remembered"] is None:
            return t["id"] not in client["previous_standby"]
        before = {c["process_id"]: c["standby"] for c in self.s["remembered"]["clients"]}
        return t["id"] not in before.get(client["process_id"], ())

    def solve(self) -> dict[str, int]:
        """Return goal → its value in the best plan."""
        found = {}
        for goal in GOALS:
            expression = self.measure(goal)
            self.model.minimize(expression)
            solver = cp_model.CpSolver()
            solver.parameters.num_workers, solver.parameters.random_seed = 1, 1
            assert solver.solve(self.model) == cp_model.OPTIMAL
            found[goal] = round(solver.objective_value)
            self.model.add(expression == found[goal])
        return found


SIZES: tuple[tuple[int, int, int, Any], ...] = ((12, 4, 1, 1), (18, 5, 1, (1, 3)), (15, 4, 2, 1), (20, 6, 0, 2), (24, 5, 1, 1))
"""Tasks, clients, standbys and threads."""


def list_plan_goals(state: ApplicationState) -> dict[str, int | float | None]:
    """Return goal of the plan → its value in the answer; empty if the answer is balanced at once."""
    return {goal.name: goal.value for goal in assign(state).report.goals if goal.stage == "plan"}


def make_odd(state: ApplicationState, seed: int) -> ApplicationState:
    """Add holders without a lag, unknown lags of holders and others, tasks without holders, and unknown end offsets."""
    s, rng = json.loads(state.model_dump_json()), random.Random(seed)
    for task in s["tasks"]:
        name, new = task["id"], rng.random() < 0.1
        for client in s["clients"]:
            lag = client["lags"].get(name)
            draw = rng.random()
            if new:
                client["lags"].pop(name, None)
                for field in ("previous_active", "previous_standby"):
                    client[field] = [other for other in client[field] if other != name]
            elif task["logged"] and lag != -2 and draw < 0.15:
                client["lags"][name] = -3
            elif lag != -2 and draw < 0.3:
                client["lags"].pop(name, None)
        if rng.random() < 0.2:
            task["changelog_end_offset"] = None
    return ApplicationState.model_validate(s)


@pytest.mark.parametrize("shape", ["scale-out", "restart", "partial"])
@pytest.mark.parametrize("factor", [1, 3])
def test_the_page_defines_the_values_of_the_plan(shape: Shape, factor: int) -> None:
    """There is no memory, which would keep the previous plan (R11)."""
    plans = 0
    for seed, (tasks, clients, standbys, threads) in enumerate(SIZES * 3):
        state = make_odd(generate(shape, tasks, clients, standbys, threads=threads, tiny=0.2, unlogged=0.1, seed=seed), seed)
        state = state.model_copy(update={"options": state.options.model_copy(update={"balance_factor": factor})})
        reported = list_plan_goals(state)
        if reported:
            plans += 1
            expected = TargetByRules(json.loads(state.model_dump_json())).solve()
            assert {name: reported[name] for name in GOALS} == expected, f"seed {seed}"
    assert plans >= 3, "others are balanced at once"


def test_the_page_defines_the_rest_of_a_plan_under_way() -> None:
    """The snapshots are between two follow-ups, when some copies are restored."""
    state = generate("scale-out", 18, 5, 1, warmups=1, seed=3)
    for _ in range(4):
        state = make_restored_snapshot(state, assign(state), memory=False)
        reported = list_plan_goals(state)
        assert reported
        assert {name: reported[name] for name in GOALS} == TargetByRules(json.loads(state.model_dump_json())).solve()
