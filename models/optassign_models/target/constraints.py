"""The rows of the target: rules, places that add up, and shares. Each function adds one kind of rows to a
program, and `state_target` all of them.

Counts beyond their shares may be a cost, e (e + 1) / 2 at distance e, as a sum of steps of rising price. The k-th copy beyond a
share is a variable between 0 and 1 of price k, and the last one of a row has no upper bound. Prices rise, so an optimum fills
the steps in their order and the cost is exact, unless the last step has more than one copy. Then the sum is too small, which
keeps it a bound, and the program is built again with more steps (`extend_where_short`).

Merged places have no rows of their own. A pool's copies on them beyond the sum of their shares cost at least the price of a
first step, for any place. So this is a relaxation, and no bound may be put on what merged places hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from optassign_models.goals.goal import Carried
from optassign_models.limits import Kind, PlacementLimit
from optassign_models.problem import LOGGED, STATELESS, IntArray
from optassign_models.target.arrays import FAR, FloatArray, Matrix, Program
from optassign_models.target.variables import MergedPlaces, Scope, StepNumbers, TargetVariables, declare_variables

OF_CLIENTS, OF_ACTIVES, OF_COPIES = (0, 1, 2), 3, 4
"""Families of shares, as `ShareFamilies` has them: three per client, two per subtopology and client."""


@dataclass(frozen=True, eq=False)
class ShareRows:
    """The rows that count what one family of shares speaks of."""

    index: IntArray
    """(k,) which share of the family each row is about: a client, or subtopology × C + client."""
    rows: IntArray
    """(k,)"""
    low: IntArray
    """(k,) of the share."""


def require_standby_number(program: Program, v: TargetVariables) -> None:
    """Add R4: Σ y + p is the number of copies of each logged task."""
    problem = v.scope.problem
    number = np.where(problem.logged, problem.standbys + 1, 0)
    rows = program.add_rows(number, number)
    program.add_entries(rows[problem.col_task[v.y_column]], v.y, 1)
    program.add_entries(rows[v.p_task], v.p, 1)


def require_pooled_copies_to_add_up(program: Program, v: TargetVariables) -> None:
    """Require that the copies which tasks have in their pools are on the places of their subtopology."""
    rows = _add_pools(program, v.scope, (v.p_pool, v.p), (v.q_cell, v.q))
    _require_merged_to_add_up(program, v.scope, rows, v.m)


def require_one_active(program: Program, v: TargetVariables) -> None:
    """Add R1: Σ a + pa is one for each task."""
    one = np.ones(v.scope.problem.T, dtype=np.int64)
    rows = program.add_rows(one, one)
    program.add_entries(rows[v.scope.problem.col_task[v.a_column]], v.a, 1)
    program.add_entries(rows[v.pa_task], v.pa, 1)


def require_pooled_actives_to_add_up(program: Program, v: TargetVariables) -> None:
    """Require that the actives which tasks have in their pools are on the places of their subtopology."""
    rows = _add_pools(program, v.scope, (v.pa_pool, v.pa), (v.qa_cell, v.qa))
    for merged in v.ma:
        _require_merged_to_add_up(program, v.scope, rows, merged)


def require_actives_to_be_copies(program: Program, v: TargetVariables) -> None:
    """Require a ≤ y, pa ≤ p, qa ≤ q, ma ≤ m, which with one copy on a column is R2."""
    problem = v.scope.problem
    ma = v.ma[0]
    pairs = ((v.a, v.y), (v.pa, v.p), (v.qa, v.q), (ma.of_pool, v.m.of_pool), (ma.of_client, v.m.of_client))
    for active, copies in pairs:
        number = len(copies)
        rows = program.add_rows(np.zeros(number, dtype=np.int64), np.full(number, problem.T * (problem.standbys + 1)))
        program.add_entries(rows, copies, 1)
        program.add_entries(rows, active[:number], -1)


def count_beyond_ties(program: Program, v: TargetVariables) -> tuple[IntArray, IntArray]:
    """Add variables that count copies on cold tied clients beyond those that R3 to R5 force.

    Returns:
        (j,) variables, and (j,) their tasks.
    """
    problem, forced = v.scope.problem, v.scope.question.forced
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
    beyond = program.add_variables(np.zeros_like(most), most)
    program.add_entries(rows, beyond, -1)
    return beyond, tasks


def count_reached(program: Program, v: TargetVariables, of_client: IntArray) -> IntArray:
    """Add variables that are 1 if a copy of a task is on a client of a value (C,), −1 for none.

    Returns:
        (logged tasks × values,) variables.
    """
    tasks, values = int(v.scope.problem.logged.sum()), int(of_client.max(initial=-1)) + 1
    nothing, one = np.zeros(tasks * values, dtype=np.int64), np.ones(tasks * values, dtype=np.int64)
    reached = program.add_variables(nothing, one)
    rows = program.add_rows(nothing, one + v.scope.problem.standbys)
    program.add_entries(rows, reached, -1)
    _add_copies_by_value(program, v, of_client, rows.reshape(tasks, values))
    return reached


def require_most_values(program: Program, v: TargetVariables, of_client: IntArray) -> int:
    """Require that each logged task's copies reach as many values (C,), −1 for none, as numbers allow. Return the sum of them.

    Either no two copies are on clients of one value and none on a client without, or each value has a copy.
    """
    problem = v.scope.problem
    tasks, copies = int(problem.logged.sum()), problem.standbys + 1
    known = np.unique(of_client[of_client >= 0])
    has_room = copies <= len(known)
    low, high = np.zeros((2, len(known) + 1), dtype=np.int64)  # the last one: of clients without a value
    low[:-1] = not has_room
    high[:-1], high[-1] = (1, 0) if has_room else (copies, copies)
    rows = program.add_rows(np.tile(low, tasks), np.tile(high, tasks))
    value = np.where(of_client >= 0, np.searchsorted(known, of_client), len(known))
    _add_copies_by_value(program, v, value, rows.reshape(tasks, len(known) + 1))
    return tasks * min(copies, len(known))


def _add_copies_by_value(program: Program, v: TargetVariables, of_client: IntArray, rows: IntArray) -> None:
    """Add copies of each logged task on clients of each value (C,) to `rows` (logged tasks, values); −1: into none."""
    problem, scope = v.scope.problem, v.scope
    place = np.cumsum(problem.logged) - 1  # among the logged tasks
    on_column, in_pool = of_client[problem.col_client[v.y_column]], scope.tell_zones(of_client)[v.p_pool % scope.Z]
    for task, value, variables in ((problem.col_task[v.y_column], on_column, v.y), (v.p_task, in_pool, v.p)):
        some = value >= 0
        program.add_entries(rows[place[task[some]], value[some]], variables[some], 1)


def require_shares_of_copies(program: Program, v: TargetVariables) -> tuple[ShareRows, ShareRows]:
    """Require copies of each subtopology on each client, and of each client, within their bounds; return the rows."""
    problem = v.scope.problem
    low, high = v.scope.copies_bounds
    in_cells = [(v.y, v.scope.column_cell[v.y_column]), (v.q, v.q_cell)]
    of_cells = _add_cells(program, low, high, in_cells)
    share = v.scope.shares.copies
    rows = program.add_rows(share.low, share.high)
    program.add_entries(rows[problem.col_client[v.y_column]], v.y, 1)
    program.add_entries(rows[v.q_cell % problem.C], v.q, 1)
    program.add_entries(rows, v.m.of_client, 1)
    return of_cells, ShareRows(np.arange(problem.C), rows, share.low)


def require_shares_of_actives(program: Program, v: TargetVariables) -> tuple[ShareRows, ShareRows, ShareRows]:
    """Require actives of each subtopology on each client, stateful ones and all of a client, within shares; return the rows."""
    problem, shares = v.scope.problem, v.scope.shares
    C = problem.C
    cell = v.scope.column_cell[v.a_column]
    found = [_add_cells(program, *v.scope.actives_bounds, [(v.a, cell), (v.qa, v.qa_cell)])]
    is_stateful = problem.kind != STATELESS
    for share, counts in ((shares.stateful, is_stateful), (shares.active, np.ones(problem.G, dtype=np.bool_))):
        rows = program.add_rows(share.low, share.high)
        for variables, cells in ((v.a, cell), (v.qa, v.qa_cell)):
            some = counts[cells // C]
            program.add_entries(rows[cells[some] % C], variables[some], 1)
        for merged in v.ma:
            if len(merged.pool) and counts[merged.pool[0] // v.scope.Z]:
                program.add_entries(rows, merged.of_client, 1)
        found.append(ShareRows(np.arange(C), rows, share.low))
    of_cells, stateful, every = found
    return of_cells, stateful, every


def _add_equations(program: Program, number: int) -> IntArray:
    """Add rows of equations with 0, and return them."""
    nothing = np.zeros(number, dtype=np.int64)
    return program.add_rows(nothing, nothing)


def _add_pools(
    program: Program, scope: Scope, in_pool: tuple[IntArray, IntArray], places: tuple[IntArray, IntArray]
) -> IntArray:
    """Return (G × Z,) rows in which what tasks have in their pools is what the places have.

    `in_pool`: the pool of each variable, and the variables; `places`: the cell of each variable, and the variables.
    """
    rows = _add_equations(program, scope.problem.G * scope.Z)
    program.add_entries(rows[in_pool[0]], in_pool[1], 1)
    program.add_entries(rows[scope.pool_of_cell[places[0]]], places[1], -1)
    return rows


def _require_merged_to_add_up(program: Program, scope: Scope, rows: IntArray, merged: MergedPlaces) -> None:
    """Require that merged places are part of their pools, whose `rows` (G × Z,) count them, and add up in each zone."""
    program.add_entries(rows[merged.pool], merged.of_pool, -1)
    together = _add_equations(program, scope.Z)
    program.add_entries(together[merged.pool % scope.Z], merged.of_pool, 1)
    program.add_entries(together[scope.zone_of], merged.of_client, -1)


def _add_cells(program: Program, low: IntArray, high: IntArray, parts: list[tuple[IntArray, IntArray]]) -> ShareRows:
    """Add a row for each cell that has variables of its own, or asks for some; `parts`: variables and the cell of each."""
    cells = np.unique(np.concatenate([*(cell for _, cell in parts), np.flatnonzero(low > 0)]))
    rows = program.add_rows(low[cells], high[cells])
    for variables, cell in parts:
        program.add_entries(rows[np.searchsorted(cells, cell)], variables, 1)
    return ShareRows(cells, rows, low[cells])


def require_most(program: Program, v: TargetVariables, limit: PlacementLimit) -> None:
    """Require that copies on each client of the limit weigh no more than it allows.

    Pooled copies count as the lightest task of their subtopology, so that the rows allow all that the limit allows. They allow
    more only if tasks of a subtopology differ in weight.

    Weights without room in 62 bits count in greater units, rounded down. A weight above the limit counts as one unit above it.
    """
    problem = v.scope.problem
    assert limit.weight is not None
    clients = np.flatnonzero(limit.clients)
    rows = np.full(problem.C, -1, dtype=np.int64)
    most = min(limit.most, (1 << 62) - 1)
    unit = 1 + (most + 1) * problem.T * (problem.standbys + 1) // (1 << 61)
    weight = np.where(limit.weight > most, most // unit + 1, limit.weight // unit)
    rows[clients] = program.add_rows(np.zeros(len(clients), dtype=np.int64), np.full(len(clients), most // unit))

    def weigh(task: IntArray, client: IntArray) -> IntArray:
        return weight[task]

    add_weights(program, v, rows, Carried(weight, weigh, weigh))


def count_greatest(program: Program, v: TargetVariables, carried: Carried) -> int:
    """Add a variable, no less than the weights of the copies in any bin of clients in grains, and rows that say so."""
    bin_of = np.arange(v.scope.problem.C) if carried.bin_of is None else carried.bin_of
    bins = int(bin_of.max(initial=-1)) + 1
    grain = np.broadcast_to(np.asarray(carried.grain, dtype=np.int64), bins)
    floor = carried.find_floor()
    greatest = program.add_variables(np.full(1, floor), np.full(1, FAR // int(grain.max(initial=1))))
    rows = program.add_rows(np.full(bins, -FAR), np.zeros(bins, dtype=np.int64))
    add_weights(program, v, rows[bin_of], carried)
    program.add_entries(rows, np.repeat(greatest, bins), -grain)
    if carried.alone is not None:
        task, client = v.scope.problem.col_task[v.a_column], v.scope.problem.col_client[v.a_column]
        grains, weight = grain[bin_of[client]], carried.alone(task, client)
        counts = weight > floor * grains
        rows = program.add_rows(np.full(int(counts.sum()), -FAR), np.zeros(int(counts.sum()), dtype=np.int64))
        program.add_entries(rows, v.a[counts], weight[counts])
        program.add_entries(rows, np.repeat(greatest, len(rows)), -grains[counts])
    return int(greatest[0])


def add_weights(program: Program, v: TargetVariables, rows: IntArray, carried: Carried) -> None:
    """Add the weights of copies to the `rows` (C,) of their clients, −1 for none. Pooled copies weigh as the lightest."""
    problem = v.scope.problem
    order = np.lexsort((carried.of_task, problem.group))
    starts = np.flatnonzero(np.diff(problem.group[order], prepend=-1))
    lightest = np.zeros(problem.G, dtype=np.int64)
    lightest[problem.group[order[starts]]] = order[starts]

    def add(variables: IntArray, client: IntArray, weight: IntArray) -> None:
        counts = (rows[client] >= 0) & (weight != 0)
        program.add_entries(rows[client[counts]], variables[counts], weight[counts])

    def add_both(copies: tuple[IntArray, IntArray, IntArray], actives: tuple[IntArray, IntArray, IntArray]) -> None:
        """Add what copies and actives weigh.

        `copies`, `actives`: variables, task and client of each. The first actives count as copies, too.
        """
        add(copies[0], copies[2], carried.by_standby(copies[1], copies[2]))
        weight = carried.by_active(actives[1], actives[2])
        weight[: len(copies[0])] -= carried.by_standby(copies[1], copies[2])
        add(actives[0], actives[2], weight)

    column, a_column = v.y_column, v.a_column
    on_columns = v.y, problem.col_task[column], problem.col_client[column]
    add_both(on_columns, (v.a, problem.col_task[a_column], problem.col_client[a_column]))
    on_places = v.q, lightest[v.q_cell // problem.C], v.q_cell % problem.C
    add_both(on_places, (v.qa, lightest[v.qa_cell // problem.C], v.qa_cell % problem.C))
    every = np.arange(problem.C)
    for number, merged in enumerate(v.ma):
        if len(merged.pool):
            tasks = lightest[merged.pool // v.scope.Z]
            light = np.full(problem.C, tasks[np.argmin(carried.of_task[tasks])])
            copies = (v.m.of_client, light, every) if number == 0 else (v.m.of_client[:0], light[:0], every[:0])
            add_both(copies, (merged.of_client, light, every))


@dataclass(frozen=True, eq=False)
class ImbalanceStep:
    """The `number`-th copies beyond some shares of one family."""

    family: int
    number: int
    variables: IntArray
    """(k,)"""
    index: IntArray
    """(k,) which share of the family; empty for pools of merged places."""
    is_last: IntArray
    """(k,) bool: the step has no upper bound."""
    is_above: bool = False
    """Beyond upper bounds of shares;"""
    kind: int | None = None
    """or in pools of merged places, of this kind of tasks."""


def extend_where_short(
    numbers: StepNumbers, steps: Sequence[ImbalanceStep], values: FloatArray, cost: IntArray
) -> StepNumbers | None:
    """Return more steps if a last step that costs has more than one copy in `values` (variables,). None if costs are exact.

    Steps that cost nothing (variables,) in what was minimised may have any number of copies. Copies beyond one client's share
    often go to another client as soon as they cost more there. So all clients get as many steps as one needs.
    """
    more = [None if number is None else number.copy() for number in numbers]
    is_exact = True
    for step in steps:
        over, number = step.is_last & (values[step.variables] > 1 + 1e-6) & (cost[step.variables] > 0), more[step.family]
        if number is None or not len(step.index) or not over.any():
            continue
        is_exact = False
        needed = step.number + 2 * np.ceil(values[step.variables[over]]).astype(np.int64)
        if step.family in OF_CLIENTS:
            np.maximum(number, needed.max(), out=number)
        else:
            np.maximum.at(number, step.index[over], needed)
    return None if is_exact else tuple(more)


def add_steps(program: Program, v: TargetVariables, families: Sequence[ShareRows]) -> list[ImbalanceStep]:
    """Add the steps of every share that costs to the rows of the five families, in their order."""
    numbers: StepNumbers = v.scope.steps if v.scope.steps is not None else (None,) * 5
    listed: list[ImbalanceStep] = []
    for family, (rows, steps) in enumerate(zip(families, numbers, strict=True)):
        if steps is not None:
            listed.extend(_add_family(program, v, family, rows, steps))
    for family, merged in ((OF_ACTIVES, v.ma), (OF_COPIES, (v.m,))):
        if numbers[family] is not None:
            listed.extend(_add_merged(program, v, family, each) for each in merged if len(each.pool))
    return listed


def _add_family(program: Program, v: TargetVariables, family: int, rows: ShareRows, steps: IntArray) -> list[ImbalanceStep]:
    """Return the steps above and below the shares of one family."""
    problem = v.scope.problem
    needed = steps[rows.index]
    found = []
    for number in range(1, int(needed.max(initial=0)) + 1):
        for sign, at in ((-1, needed >= number), (1, (needed >= number) & (rows.low >= number))):
            index, is_last = rows.index[at], needed[at] == number
            most = np.full(len(index), problem.T * (problem.standbys + 1)) if sign < 0 else rows.low[at] - number + 1
            variables = program.add_variables(np.zeros(len(index), dtype=np.int64), np.where(is_last, most, 1))
            program.add_entries(rows.rows[at], variables, sign)
            found.append(ImbalanceStep(family, number, variables, index, is_last, is_above=sign < 0))
    return found


def _add_merged(program: Program, v: TargetVariables, family: int, merged: MergedPlaces) -> ImbalanceStep:
    """Price each pool's copies on merged places beyond the sum of their shares, at the price of a first step."""
    problem = v.scope.problem
    most = np.full(len(merged.pool), problem.T * (problem.standbys + 1))
    over = program.add_variables(np.zeros_like(most), most)
    return ImbalanceStep(family, 1, over, over[:0], np.zeros(len(over), dtype=np.int64), kind=merged.kind)


def require_room(program: Program, v: TargetVariables, steps: Sequence[ImbalanceStep]) -> None:
    """Add a row for each pool that has merged places: its copies there are no more than all these places together take.

    By steps, what is beyond the shares counts as room that costs.

    A place takes what its subtopology has there at most, and what columns leave of the share. The row adds up the share where
    that is the lesser one without columns, and otherwise the number of tasks. By Gale's theorem (1957) on flows from pools to
    clients, what may still not fit is a matter of single clients: `search.py` tells their places apart.
    """
    scope = v.scope
    for family, merged in ((OF_COPIES, v.m), *((OF_ACTIVES, merged) for merged in v.ma)):
        share = (scope.copies_bounds if family == OF_COPIES else scope.actives_bounds)[1][merged.cell]
        tasks = scope.place_high[merged.cell] if merged.kind == LOGGED else np.full(len(share), scope.problem.T)
        room = np.bincount(merged.row, weights=np.minimum(share, tasks), minlength=len(merged.pool)).astype(np.int64)
        rows = program.add_rows(np.full_like(room, -FAR), room)
        program.add_entries(rows, merged.of_pool, 1)
        is_share, row_of = share <= tasks, np.full(len(scope.pool_of_cell), -1, dtype=np.int64)
        row_of[merged.cell[is_share]] = rows[merged.row[is_share]]  # of each place whose share its row adds up
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
    """(j,) variables: copies of a task beyond those on tied clients that this answer forces;"""
    beyond_task: IntArray
    """(j,) that task."""
    steps: Sequence[ImbalanceStep]
    """The steps that price counts beyond shares; none if these cost nothing."""
    reached: Mapping[str, tuple[tuple[IntArray, int], ...]] = field(default_factory=dict)
    """By goal: (logged tasks × values,) variables of the values that tasks reach, and what each gains."""
    gained: Mapping[str, int] = field(default_factory=dict)
    """By goal: the gain of tasks that have to reach as many values as they can."""
    peaks: Mapping[str, int] = field(default_factory=dict)
    """By goal: the variable of the greatest sum of any client."""

    def find_longer_steps(self, values: FloatArray, cost: IntArray) -> StepNumbers | None:
        """The steps with more where counts (variables,) of least cost (variables,) are further from their shares; or None."""
        numbers = self.v.scope.steps
        return None if numbers is None else extend_where_short(numbers, self.steps, values, cost)


def state_target(scope: Scope) -> TargetProgram:
    """Return the program of all targets in a scope."""
    program, question, problem = Program(), scope.question, scope.problem
    v = declare_variables(program, scope)
    require_standby_number(program, v)
    require_pooled_copies_to_add_up(program, v)
    require_one_active(program, v)
    require_pooled_actives_to_add_up(program, v)
    require_actives_to_be_copies(program, v)
    beyond, beyond_task = np.zeros((2, 0), dtype=np.int64)
    if any(goal.forced_costs is not None for goal in question.goals):
        beyond, beyond_task = count_beyond_ties(program, v)
    of_copies, of_clients = require_shares_of_copies(program, v)
    of_actives, stateful, every = require_shares_of_actives(program, v)
    families = (every, stateful, of_clients, of_actives, of_copies)
    steps = add_steps(program, v, families)
    require_room(program, v, steps)
    for limit in question.limits:
        if limit.kind is Kind.MOST:
            require_most(program, v, limit)
    reached: dict[str, tuple[tuple[IntArray, int], ...]] = {}
    gained: dict[str, int] = {}
    peaks: dict[str, int] = {}
    for goal in question.goals:
        kinds = () if goal.reaches is None else goal.reaches(problem)
        if kinds and scope.has_most_values:
            gained[goal.name] = sum(each.gain * require_most_values(program, v, each.of_client) for each in kinds)
        elif kinds:
            reached[goal.name] = tuple((count_reached(program, v, each.of_client), each.gain) for each in kinds)
        carried = None if goal.carries is None else goal.carries(problem)
        if carried is not None:
            peaks[goal.name] = count_greatest(program, v, carried)
    if question.require is not None:
        question.require(program, v)
    return TargetProgram(v, program.finish(), beyond, beyond_task, steps, reached, gained, peaks)
