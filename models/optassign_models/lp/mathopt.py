"""Programs in arrays, handed to MathOpt.

Its Python package builds models variable by variable; written straight into its messages, arrays are copied as they stand.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from ortools.math_opt import callback_pb2, model_parameters_pb2, model_pb2, parameters_pb2, result_pb2
from ortools.math_opt.core.python import solver as math_opt

from optassign_models.deadline import Deadline
from optassign_models.problem import BoolArray, IntArray

_HIGHS_WITHOUT_RULES = (1 << 10) | (1 << 11)
"""HiGHS's presolve leaves out its search for dependent equations and dependent free columns (bits of `presolve_rule_off`).

It gives that search a hundredth of the time limit, so its result would depend on the machine; and it costs more than it saves.
A program of 87,378 to 332,835 variables takes 3.7 to 4.3 s without it, and 79 to 122 s with it if no limit ends it.
"""

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]


def write_model(
    bounds: tuple[Numbers, Numbers],
    whole: BoolArray,
    row_bounds: tuple[Numbers, Numbers],
    entries: tuple[IntArray, IntArray, Numbers],
    cost: Numbers,
) -> model_pb2.ModelProto:
    """Minimise cost · x where low ≤ x ≤ high, x is in whole numbers where `whole`, and row_low ≤ A x ≤ row_high.

    bounds: low and high, (n,); whole: (n,); row_bounds: (m,); entries: row, variable and coefficient of each, (k,), sorted by
    row and variable; cost: (n,).
    """
    model = model_pb2.ModelProto()
    model.variables.ids.extend(range(len(whole)))
    model.variables.lower_bounds.extend(bounds[0].astype(np.float64))
    model.variables.upper_bounds.extend(bounds[1].astype(np.float64))
    model.variables.integers.extend(whole.tolist())
    model.linear_constraints.ids.extend(range(len(row_bounds[0])))
    model.linear_constraints.lower_bounds.extend(row_bounds[0].astype(np.float64))
    model.linear_constraints.upper_bounds.extend(row_bounds[1].astype(np.float64))
    matrix = model.linear_constraint_matrix
    matrix.row_ids.extend(entries[0])
    matrix.column_ids.extend(entries[1])
    matrix.coefficients.extend(entries[2].astype(np.float64))
    used = np.flatnonzero(cost)
    model.objective.linear_coefficients.ids.extend(used)
    model.objective.linear_coefficients.values.extend(cost[used].astype(np.float64))
    return model


def solve_model(
    model: model_pb2.ModelProto,
    solver: parameters_pb2.SolverTypeProto.ValueType,
    parameters: parameters_pb2.SolveParametersProto,
    deadline: Deadline,
) -> result_pb2.SolveResultProto:
    """The solver's answer by the deadline, under parameters that limit its work."""
    parameters.highs.int_options["presolve_rule_off"] = _HIGHS_WITHOUT_RULES
    if math.isfinite(deadline.at):
        parameters.time_limit.FromMicroseconds(max(1_000, int(deadline.left * 1e6)))
    return math_opt.solve(
        model,
        solver,
        parameters_pb2.SolverInitializerProto(),
        parameters,
        model_parameters_pb2.ModelSolveParametersProto(),
        None,
        callback_pb2.CallbackRegistrationProto(),
        None,
        None,
    )
