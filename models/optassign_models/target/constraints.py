"""The rows of the target: rules, places that add up, and shares. `state_target` adds them all.

Counts beyond their shares may be a cost, e (e + 1) / 2 at distance e, as a sum of steps of rising price. The k-th copy beyond a
share is a variable between 0 and 1 of price k, and the last one of a row has no upper bound. Prices rise, so an optimum fills
the steps in their order and the cost is exact, unless the last step has more than one copy. Then the sum is too small, which
keeps it a bound, and the program is built again with more steps (`TargetProgram.find_needed_steps`).

Merged places have no rows of their own. A pool's copies on them beyond the sum of their shares cost the price of a first step
each, the least for any place. So the program is a relaxation, and copies on merged places have no hard upper bound then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optassign_models.goals.goal import Carried
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.problem import LOGGED, STATELESS, BoolArray, FloatArray, IntArray
from optassign_models.shares import ShareBounds
from optassign_models.target.arrays import FAR, Matrix, Program
from optassign_models.target.variables import MergedPlaces, Scope, StepNumbers, TargetVariables, declare_variables

OF_CLIENTS, OF_ACTIVES, OF_COPIES = (0, 1, 2), 3, 4
"""Families of shares, as `ShareFamilies` has them: three per client, two per subtopology and client."""

ShareRows = tuple[IntArray, IntArray, IntArray]
"""(k,) the share of a family that each row counts (client, or subtopology × C + client), (k,) the rows, (k,) lower bounds."""


def require_numbers(program: Program, v: TargetVariables) -> None:
    """Add R4 and R1, the numbers of copies and actives of each task, and equate copies in pools with places of the pools."""
    scope, problem = v.scope, v.scope.problem
    number = np.where(problem.logged, problem.standbys + 1, 0)
    of_copies = number, (v.y_column, v.y), (v.p_task, v.p_pool, v.p), (v.q_cell, v.q), (v.m,)
    of_actives = np.ones_like(number), (v.a_column, v.a), (v.pa_task, v.pa_pool, v.pa), (v.qa_cell, v.qa), v.ma
    for number, (column, on_columns), (task, pool, in_pools), (cell, on_places), merged in (of_copies, of_actives):
        rows = program.add_rows(number, number)
        program.add_entries(rows[problem.col_task[column]], on_columns, 1)
        program.add_entries(rows[task], in_pools, 1)
        rows = program.add_rows(np.zeros(problem.G * scope.Z, dtype=np.int64), 0)
        program.add_entries(rows[pool], in_pools, 1)
        program.add_entries(rows[scope.pool_of_cell[cell]], on_places, -1)
        for places in merged:
            program.add_entries(rows[places.pool], places.of_pool, -1)
            together = program.add_rows(np.zeros(scope.Z, dtype=np.int64), 0)  # copies on merged places of each zone
            program.add_entries(together[places.pool % scope.Z], places.of_pool, 1)
            program.add_entries(together[scope.zone_of], places.of_client, -1)


def require_actives_to_be_copies(program: Program, v: TargetVariables) -> None:
    """Require a ≤ y, pa ≤ p, qa ≤ q, ma ≤ m, which with one copy on a column is R2."""
    problem, ma = v.scope.problem, v.ma[0]
    pairs = ((v.a, v.y), (v.pa, v.p), (v.qa, v.q), (ma.of_pool, v.m.of_pool), (ma.of_client, v.m.of_client))
    for active, copies in pairs:
        rows = program.add_rows(0, np.full(len(copies), problem.T * (problem.standbys + 1)))
        program.add_entries(rows, copies, 1)
        program.add_entries(rows, active[: len(copies)], -1)


def count_beyond_ties(program: Program, v: TargetVariables) -> tuple[IntArray, IntArray]:
    """Return new variables (j,) and tasks (j,): copies of a task on cold tied clients beyond its free ones, `Forced.choices`.

    A row keeps each variable at or above these copies of its task.
    """
    problem, forced = v.scope.problem, v.scope.problem.forced
    tied = np.bincount(problem.col_task[forced.tied], minlength=problem.T) + np.where(forced.pool_tied, problem.pool_size, 0)
    has_ties = forced.tie_not_caught_up & (tied > forced.choices)
    tasks = np.flatnonzero(has_ties)
    most = np.full(len(tasks), problem.standbys + 1)
    rows = program.add_rows(-most, forced.choices[tasks])
    row_of = np.full(problem.T, -1, dtype=np.int64)
    row_of[tasks] = rows
    on_column = forced.tied[v.y_column] & has_ties[problem.col_task[v.y_column]]
    program.add_entries(row_of[problem.col_task[v.y_column[on_column]]], v.y[on_column], 1)
    in_pool = forced.pool_tied[v.p_task] & has_ties[v.p_task]
    program.add_entries(row_of[v.p_task[in_pool]], v.p[in_pool], 1)
    beyond = program.add_variables(0, most)
    program.add_entries(rows, beyond, -1)
    return beyond, tasks


def count_reached(program: Program, v: TargetVariables, of_client: IntArray) -> IntArray:
    """Return new variables (logged tasks × values,), 1 only if a copy is on a client with the value (C,); −1 is no value."""
    tasks, values = int(v.scope.problem.logged.sum()), int(of_client.max(initial=-1)) + 1
    one = np.ones(tasks * values, dtype=np.int64)
    reached = program.add_variables(0, one)
    rows = program.add_rows(0, one + v.scope.problem.standbys)
    program.add_entries(rows, reached, -1)
    _add_copies_by_value(program, v, of_client, rows.reshape(tasks, values))
    return reached


def require_most_values(program: Program, v: TargetVariables, of_client: IntArray) -> int:
    """Require each logged task to reach as many values (C,), −1 for none, as numbers allow. Return the number over all tasks.

    With enough values, copies are on clients of different values; otherwise each value has a copy.
    """
    problem = v.scope.problem
    tasks, copies = int(problem.logged.sum()), problem.standbys + 1
    known = np.unique(of_client[of_client >= 0])
    has_room = copies <= len(known)
    low, high = np.zeros((2, len(known) + 1), dtype=np.int64)  # the last column is for clients without a value
    low[:-1] = not has_room
    high[:-1], high[-1] = (1, 0) if has_room else (copies, copies)
    rows = program.add_rows(np.tile(low, tasks), np.tile(high, tasks))
    value = np.where(of_client >= 0, np.searchsorted(known, of_client), len(known))
    _add_copies_by_value(program, v, value, rows.reshape(tasks, len(known) + 1))
    return tasks * min(copies, len(known))


def _add_copies_by_value(program: Program, v: TargetVariables, of_client: IntArray, rows: IntArray) -> None:
    """Add the copies of each logged task to `rows` (logged tasks, values) by the value (C,) of their client; −1: to no row."""
    problem, scope = v.scope.problem, v.scope
    place = np.cumsum(problem.logged) - 1  # among the logged tasks
    on_column, in_pool = of_client[problem.col_client[v.y_column]], scope.take_by_zone(of_client)[v.p_pool % scope.Z]
    for task, value, variables in ((problem.col_task[v.y_column], on_column, v.y), (v.p_task, in_pool, v.p)):
        some = value >= 0
        program.add_entries(rows[place[task[some]], value[some]], variables[some], 1)


def require_shares(program: Program, v: TargetVariables) -> tuple[ShareRows, ...]:
    """Require the counts of the five families to be within their shares; return the rows of each family, in order."""
    scope, problem, shares = v.scope, v.scope.problem, v.scope.shares
    of_copies = [(v.y, scope.column_cell[v.y_column]), (v.q, v.q_cell)]
    of_actives = [(v.a, scope.column_cell[v.a_column]), (v.qa, v.qa_cell)]
    merged = [places for places in v.ma if len(places.pool)]
    is_stateful, every = problem.kind != STATELESS, np.ones(problem.G, dtype=np.bool_)

    def require_cells(bounds: tuple[IntArray, IntArray], parts: list[tuple[IntArray, IntArray]]) -> ShareRows:
        """Add a row for each cell with variables or a positive lower bound; `parts`: variables and the cell of each."""
        low, high = bounds
        cells = np.unique(np.concatenate([*(cell for _, cell in parts), np.flatnonzero(low > 0)]))
        rows = program.add_rows(low[cells], high[cells])
        for variables, cell in parts:
            program.add_entries(rows[np.searchsorted(cells, cell)], variables, 1)
        return cells, rows, low[cells]

    def require_clients(
        share: ShareBounds, parts: list[tuple[IntArray, IntArray]], merged: Sequence[MergedPlaces], counts: BoolArray
    ) -> ShareRows:
        """Add a row for each client, over the subtopologies that count, (G,)."""
        rows = program.add_rows(share.low, share.high)
        for variables, cell in parts:
            some = counts[cell // problem.C]
            program.add_entries(rows[cell[some] % problem.C], variables[some], 1)
        for places in merged:
            program.add_entries(rows, places.of_client, 1)
        return np.arange(problem.C), rows, share.low

    group_copies = require_cells(scope.copies_bounds, of_copies)
    copies = require_clients(shares.copies, of_copies, (v.m,), every)
    group_active = require_cells(scope.actives_bounds, of_actives)
    stateful = [places for places in merged if places.kind != STATELESS]
    of_stateful = require_clients(shares.stateful, of_actives, stateful, is_stateful)
    return require_clients(shares.active, of_actives, merged, every), of_stateful, copies, group_active, group_copies


def require_most(program: Program, v: TargetVariables, limit: PlacementLimit) -> None:
    """Require that copies on each client of the limit weigh no more than it allows.

    Pooled copies count as the lightest task of their subtopology, so that the rows allow all that the limit allows. They allow
    more only if tasks of a subtopology differ in weight.

    Weights without room in 62 bits count in greater units, rounded down. A weight above the limit counts as one unit above it.
    """
    problem = v.scope.problem
    clients = np.flatnonzero(limit.clients)
    rows = np.full(problem.C, -1, dtype=np.int64)
    most = min(limit.most, (1 << 62) - 1)
    unit = 1 + (most + 1) * problem.T * (problem.standbys + 1) // (1 << 61)
    weight = np.where(limit.weight > most, most // unit + 1, limit.weight // unit)
    rows[clients] = program.add_rows(0, np.full(len(clients), most // unit))
    add_weights(program, v, rows, Carried.of_tasks(weight))


def count_greatest(program: Program, v: TargetVariables, carried: Carried) -> IntArray:
    """Return a new variable (1,), which rows keep at or above the weight of the copies in each bin of clients, in grains."""
    bin_of = np.arange(v.scope.problem.C) if carried.bin_of is None else carried.bin_of
    bins = int(bin_of.max(initial=-1)) + 1
    grain = np.broadcast_to(np.asarray(carried.grain, dtype=np.int64), bins)
    floor = carried.find_floor()
    greatest = program.add_variables(np.full(1, floor), FAR // int(grain.max(initial=1)))
    rows = program.add_rows(-FAR, np.zeros(bins, dtype=np.int64))
    add_weights(program, v, rows[bin_of], carried)
    program.add_entries(rows, np.repeat(greatest, bins), -grain)
    if carried.least_sum is not None:
        task, client = v.scope.problem.col_task[v.a_column], v.scope.problem.col_client[v.a_column]
        grains, weight = grain[bin_of[client]], carried.least_sum(task, client)
        counts = weight > floor * grains
        rows = program.add_rows(-FAR, np.zeros(int(counts.sum()), dtype=np.int64))
        program.add_entries(rows, v.a[counts], weight[counts])
        program.add_entries(rows, np.repeat(greatest, len(rows)), -grains[counts])
    return greatest


def add_weights(program: Program, v: TargetVariables, rows: IntArray, carried: Carried) -> None:
    """Add the weights of copies to the `rows` (C,) of their clients, −1 for none. Pooled copies weigh as the lightest task."""
    problem, C = v.scope.problem, v.scope.problem.C
    order = np.lexsort((carried.of_task, problem.group))
    starts = np.flatnonzero(np.diff(problem.group[order], prepend=-1))
    lightest = np.zeros(problem.G, dtype=np.int64)
    lightest[problem.group[order[starts]]] = order[starts]

    def add(copies: IntArray, actives: IntArray, task: IntArray, client: IntArray) -> None:
        """Add the weights of actives (n,) of tasks (n,) on clients (n,), and of copies (k,) at the first k of these pairs."""
        first = slice(len(copies))
        by_standby, weight = carried.by_standby(task[first], client[first]), carried.by_active(task, client)
        weight[first] -= by_standby
        for variables, at, each in ((copies, client[first], by_standby), (actives, client, weight)):
            counts = (rows[at] >= 0) & (each != 0)
            program.add_entries(rows[at[counts]], variables[counts], each[counts])

    add(v.y, v.a, problem.col_task[v.a_column], problem.col_client[v.a_column])
    add(v.q, v.qa, lightest[v.qa_cell // C], v.qa_cell % C)
    for number, merged in enumerate(v.ma):
        if len(merged.pool):
            tasks = lightest[merged.pool // v.scope.Z]
            light = np.full(C, tasks[np.argmin(carried.of_task[tasks])])
            add(v.m.of_client if number == 0 else v.m.of_client[:0], merged.of_client, light, np.arange(C))


@dataclass(frozen=True, eq=False)
class ImbalanceStep:
    """Variables (k,) of the `number`-th copies beyond some shares of one family."""

    family: int
    number: int
    variables: IntArray
    index: IntArray
    """(k,) the share of the family, as in `ShareRows`; empty for pools of merged places."""
    is_last: IntArray
    """(k,) bool, whether the step is the last of its share and takes all further copies."""
    is_above: bool = False
    """Whether the copies are above upper bounds of shares, not missing below lower bounds."""
    kind: int | None = None
    """The kind of tasks in pools of merged places; None for steps of shares."""


def add_steps(program: Program, v: TargetVariables, families: Sequence[ShareRows]) -> list[ImbalanceStep]:
    """Add the steps of every share that costs to the rows of the five families, in their order.

    Each pool's copies on merged places beyond the sum of their shares have the price of a first step.
    """
    every = v.scope.problem.T * (v.scope.problem.standbys + 1)
    listed: list[ImbalanceStep] = []
    for family, ((index, rows, low), steps) in enumerate(zip(families, v.scope.steps, strict=True)):
        needed = np.zeros_like(index) if steps is None else steps[index]
        for number in range(1, int(needed.max(initial=0)) + 1):
            for sign, at in ((-1, needed >= number), (1, (needed >= number) & (low >= number))):
                is_last = needed[at] == number
                most = every if sign < 0 else low[at] - number + 1
                variables = program.add_variables(0, np.where(is_last, most, 1))
                program.add_entries(rows[at], variables, sign)
                listed.append(ImbalanceStep(family, number, variables, index[at], is_last, is_above=sign < 0))
    for family, merged in ((OF_ACTIVES, v.ma), (OF_COPIES, (v.m,))):
        for places in merged if v.scope.steps[family] is not None else ():
            if len(places.pool):
                over = program.add_variables(0, np.full(len(places.pool), every))
                listed.append(ImbalanceStep(family, 1, over, over[:0], np.zeros_like(over), kind=places.kind))
    return listed


def require_room(program: Program, v: TargetVariables, steps: Sequence[ImbalanceStep]) -> None:
    """Add a row for each pool that has merged places: its copies there are no more than all these places together take.

    Copies in steps beyond the shares count as additional room, at a cost.

    The room of a place is the lesser of its share, from which copies on columns are subtracted, and its number of tasks. The
    row takes the share if it is the lesser one without columns. By Gale's theorem (1957) on flows from pools to clients, only
    the room of single clients may still be too small: `search.py` separates their places.
    """
    scope = v.scope
    for family, merged in ((OF_COPIES, v.m), *((OF_ACTIVES, merged) for merged in v.ma)):
        share = (scope.copies_bounds if family == OF_COPIES else scope.actives_bounds)[1][merged.cell]
        tasks = scope.place_high[merged.cell] if merged.kind == LOGGED else np.full(len(share), scope.problem.T)
        room = np.bincount(merged.row, weights=np.minimum(share, tasks), minlength=len(merged.pool)).astype(np.int64)
        rows = program.add_rows(-FAR, room)
        program.add_entries(rows, merged.of_pool, 1)
        is_share, row_of = share <= tasks, np.full(len(scope.pool_of_cell), -1, dtype=np.int64)
        row_of[merged.cell[is_share]] = rows[merged.row[is_share]]  # the row of each place that counts by its share
        variables, column = (v.y, v.y_column) if family == OF_COPIES else (v.a, v.a_column)
        taken = [(variables, scope.column_cell[column], 1)]
        for step in steps:
            if step.family == family and step.is_above:
                taken.append((step.variables, step.index, -1))
            elif step.family == family and step.kind == merged.kind:
                program.add_entries(rows, step.variables, -1)
        for each, cells, sign in taken:
            row = row_of[cells]
            program.add_entries(row[row >= 0], each[row >= 0], sign)


@dataclass(frozen=True, eq=False)
class TargetProgram:
    """The program in arrays. Its variables are those of `v`, then further ones that goals need."""

    v: TargetVariables
    matrix: Matrix
    beyond: IntArray
    """(j,) variables: copies of a task on cold tied clients beyond the forced ones (`count_beyond_ties`)."""
    beyond_task: IntArray
    """(j,) the task of each of these variables."""
    steps: Sequence[ImbalanceStep]
    """The steps that price counts beyond shares; empty if these cost nothing."""
    counted: Mapping[str, Sequence[tuple[IntArray, int]]] = field(default_factory=dict)
    """Goal → its own variables (values reached by tasks, or the greatest sum), with the cost of each."""
    gained: Mapping[str, int] = field(default_factory=dict)
    """Goal → its constant gain, if rows require as many values as possible (`require_most_values`)."""

    def find_needed_steps(self, values: FloatArray, cost: IntArray) -> StepNumbers | None:
        """Return more steps if a last step that costs has more than one copy in `values` (variables,). None if costs are exact.

        Steps without `cost` (variables,) may have any number of copies. Copies beyond one client's share often go to another
        client once they cost more. So all clients get as many steps as the client that needs most.
        """
        more = [None if number is None else number.copy() for number in self.v.scope.steps]
        is_exact = True
        for step in self.steps:
            over, number = step.is_last & (values[step.variables] > 1 + 1e-6) & (cost[step.variables] > 0), more[step.family]
            if number is None or not len(step.index) or not over.any():
                continue
            is_exact = False
            needed = step.number + np.ceil(values[step.variables[over]]).astype(np.int64)
            if step.family in OF_CLIENTS:
                np.maximum(number, needed.max(), out=number)
            else:
                np.maximum.at(number, step.index[over], needed)
        return None if is_exact else tuple(more)


def state_target(scope: Scope) -> TargetProgram:
    """Return the program of all targets in a scope."""
    program, question, problem = Program(), scope.question, scope.problem
    v = declare_variables(program, scope)
    require_numbers(program, v)
    require_actives_to_be_copies(program, v)
    beyond, beyond_task = np.zeros((2, 0), dtype=np.int64)
    if any(goal.forced_costs is not None for goal in question.goals):
        beyond, beyond_task = count_beyond_ties(program, v)
    steps = add_steps(program, v, require_shares(program, v))
    require_room(program, v, steps)
    for limit in question.limits:
        if limit.kind is Kind.MOST:
            require_most(program, v, limit)
    counted: dict[str, list[tuple[IntArray, int]]] = {}
    gained: dict[str, int] = {}
    for goal in question.goals:
        kinds = () if goal.reaches is None else goal.reaches(problem)
        if kinds and scope.has_most_values:
            gained[goal.name] = sum(gain * require_most_values(program, v, of_client) for of_client, gain in kinds)
            kinds = ()
        counted[goal.name] = [(count_reached(program, v, of_client), -gain) for of_client, gain in kinds]
        carried = None if goal.carries is None else goal.carries(problem)
        if carried is not None:
            counted[goal.name].append((count_greatest(program, v, carried), 1))
    if question.require is not None:
        question.require(program, v)
    return TargetProgram(v, program.finish(), beyond, beyond_task, steps, counted, gained)
