"""The program of a target in files that solvers read: MPS, LP, and the text of CP-SAT's own message.

Variables have the letters of docs/explanation/model.md, then the task and the client: y_0_1_c3 is a copy of task 0_1 on
client 3. Clients are counted from 0 in the order of their process ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from optassign.files import write_file
from optassign_models.problem import IntArray
from optassign_models.target.arrays import FAR, Matrix
from optassign_models.target.backends import write_model
from optassign_models.target.solver import LinearForm
from optassign_models.target.variables import TargetVariables

FORMATS = (".mps", ".lp", ".txt")
"""Suffixes of file names: MPS, LP, and CP-SAT's text."""


def name_variables(v: TargetVariables, number: int, tasks: Sequence[str]) -> list[str]:
    """Return the names of `number` variables; auxiliary variables of goals and steps are x and a number. `tasks`: (T,) ids."""
    problem = v.scope.problem
    names = [f"x_{each}" for each in range(number)]
    plain = [re.sub(r"\W", "_", name) for name in tasks]
    tasks = plain if len(set(plain)) == len(plain) else [f"t{each}" for each in range(problem.T)]
    pairs = (("y", v.y, v.y_column), ("a", v.a, v.a_column))
    for letter, variables, columns in pairs:
        for variable, column in zip(variables.tolist(), columns, strict=True):
            names[variable] = f"{letter}_{tasks[problem.col_task[column]]}_c{problem.col_client[column]}"
    for letter, variables, of_task, pool in (("p", v.p, v.p_task, v.p_pool), ("pa", v.pa, v.pa_task, v.pa_pool)):
        for variable, task, each in zip(variables.tolist(), of_task, pool % v.scope.Z, strict=True):
            names[variable] = f"{letter}_{tasks[task]}_z{each}"
    for letter, variables, cell in (("q", v.q, v.q_cell), ("qa", v.qa, v.qa_cell)):
        for variable, place in zip(variables.tolist(), cell, strict=True):
            names[variable] = f"{letter}_g{place // problem.C}_c{place % problem.C}"
    return names


def write_program(path: Path, matrix: Matrix, form: LinearForm, names: Sequence[str], title: str) -> None:
    """Write the program that minimises a form, in the format of the file name's suffix (`FORMATS`).

    All numbers are written as exact integers. OR-Tools writes six digits, which would change offsets.

    Raises:
        OSError: if the file cannot be written.
    """
    write = {".mps": _list_mps, ".lp": _list_lp, ".txt": _list_cp_sat}[path.suffix]
    write_file("\n".join(write(matrix, form, names, title)) + "\n", path)


def _list_mps(matrix: Matrix, form: LinearForm, names: Sequence[str], title: str) -> Iterator[str]:
    """Yield the lines of free MPS. The constant of the objective is the negated right-hand side of its row."""
    low, high = matrix.row_low.tolist(), matrix.row_high.tolist()
    has_range = [-FAR < least < most < FAR for least, most in zip(low, high, strict=True)]
    yield from (f"NAME {title}", "ROWS", " N objective")
    for row, (least, most) in enumerate(zip(low, high, strict=True)):
        yield f" {'E' if least == most else 'L' if most < FAR else 'G'} r_{row}"
    yield from ("COLUMNS", " MARKER 'MARKER' 'INTORG'")
    order = np.lexsort((matrix.row, matrix.variable))
    starts = np.searchsorted(matrix.variable[order], np.arange(len(names) + 1)).tolist()
    row, coefficient, cost = (
        matrix.row[order].tolist(),
        matrix.coefficient[order].tolist(),
        (form.unit * form.coefficients).tolist(),
    )
    for variable, name in enumerate(names):
        entries = [("objective", cost[variable])]
        entries += [(f"r_{row[at]}", coefficient[at]) for at in range(*starts[variable : variable + 2])]
        yield from (f" {name} {of} {each}" for of, each in entries if each or len(entries) == 1)
    yield from (" MARKER 'MARKER' 'INTEND'", "RHS", f" rhs objective {-form.constant}")
    yield from (f" rhs r_{at} {most if most < FAR else least}" for at, (least, most) in enumerate(zip(low, high, strict=True)))
    yield "RANGES"
    yield from (f" range r_{at} {high[at] - low[at]}" for at, has in enumerate(has_range) if has)
    yield "BOUNDS"
    for name, least, most in zip(names, matrix.low.tolist(), matrix.high.tolist(), strict=True):
        yield from (f" LO bound {name} {least}", f" UP bound {name} {most}")
    yield "ENDATA"


def _list_lp(matrix: Matrix, form: LinearForm, names: Sequence[str], title: str) -> Iterator[str]:
    """Yield the lines of LP. A row with two bounds is written twice, because few readers support ranges."""
    cost = form.unit * form.coefficients
    used = np.flatnonzero(cost)
    yield from (f"\\ {title}", "Minimize", " objective:")
    yield from _list_terms(used, cost[used], names)
    yield from (f" + {form.constant}", "Subject To")
    starts = np.searchsorted(matrix.row, np.arange(len(matrix.row_low) + 1)).tolist()
    for row, (low, high) in enumerate(zip(matrix.row_low.tolist(), matrix.row_high.tolist(), strict=True)):
        entries = slice(starts[row], starts[row + 1])
        ends = [("", "=", low)] if low == high else [("_low", ">=", low)] * (low > -FAR) + [("", "<=", high)] * (high < FAR)
        for suffix, relation, bound in ends if starts[row] < starts[row + 1] else ():
            yield f" r_{row}{suffix}:"
            yield from _list_terms(matrix.variable[entries], matrix.coefficient[entries], names)
            yield f" {relation} {bound}"
    yield "Bounds"
    yield from (f" {low} <= {name} <= {high}" for name, low, high in zip(names, matrix.low, matrix.high, strict=True))
    yield "General"
    yield from (f" {name}" for name in names)
    yield "End"


def _list_terms(variables: IntArray, coefficients: IntArray, names: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a sum, ten terms each, because readers limit the length of a line."""
    terms = [f" {each:+d} {names[at]}" for at, each in zip(variables.tolist(), coefficients.tolist(), strict=True)]
    yield from ("".join(terms[start : start + 10]) for start in range(0, len(terms), 10))


def _list_cp_sat(matrix: Matrix, form: LinearForm, names: Sequence[str], title: str) -> Iterator[str]:
    """Yield the text of CP-SAT's message."""
    proto = write_model(matrix, form.unit * form.coefficients, None).proto
    proto.name = title
    proto.objective.offset = form.constant
    proto.objective.scaling_factor = 1
    for variable, name in zip(proto.variables, names, strict=True):
        variable.name = name
    yield str(proto)
