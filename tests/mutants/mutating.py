"""Mutants of Python sources: small faults, each stored in a form that can be found again after changes elsewhere in its file.

A mutant is identified by its file, the text of its line, and the text that it replaces there. Its line number serves only to
choose among equal lines.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

_COMPARED = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
_COMPUTED = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.BitXor: ("^", "|"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
}
_SWAPPED = {"min": "max", "any": "all", "minimum": "maximum", "floor": "ceil"}
_SWAPPED |= {new: old for old, new in _SWAPPED.items()}
_RETURNED = {"bool": "not ({})", "int": "({}) + 1", "float": "({}) + 1", "str": "({}) + 'x'", "list": "[]", "dict": "{{}}"}
"""Return type of a function → the mutated value; None for any other type."""
_FORCED = ("True", "False")


@dataclass(frozen=True)
class Mutant:
    """One fault; its fields are those of the JSON lines."""

    file: str
    line: int
    column: int
    text: str
    """The text of the line."""
    operator: str
    original: str
    replacement: str


class Finder(ast.NodeVisitor):
    """A collector of a source's mutants, except in annotations, logs and error messages, which tests need not check."""

    def __init__(self, file: str, source: str) -> None:
        self.file, self.source = file, source
        self.lines = source.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.found: list[Mutant] = []
        self._returned: list[str] = []
        """The return types of the enclosing functions."""

    def _place(self, line: int, column: int) -> int:
        """Return the offset in the source; `column` counts bytes, as the parser does."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _add(self, operator: str, start: int, end: int, replacement: str) -> None:
        line = self.source.count("\n", 0, start) + 1
        column = start - self.starts[line - 1]
        original = self.source[start:end]
        self.found.append(Mutant(self.file, line, column, self.lines[line - 1], operator, original, replacement))

    def _swap_between(self, operator: str, left: ast.expr, right: ast.expr, signs: tuple[str, str]) -> None:
        """Add a mutant that replaces the operator between two operands."""
        start, end = self._span(left)[1], self._span(right)[0]
        at = self.source.find(signs[0], start, end)
        if at >= 0:
            self._add(operator, at, at + len(signs[0]), signs[1])

    def _force(self, test: ast.expr, values: tuple[str, ...] = _FORCED) -> None:
        for value in values:
            self._add("condition", *self._span(test), value)

    def _visit_all(self, nodes: Collection[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if node.name in {"__repr__", "__str__"}:
            return
        self._visit_all([*node.args.defaults, *node.args.kw_defaults])
        self._returned.append(ast.unparse(node.returns) if node.returns else "None")
        self._visit_all(node.body)
        self._returned.pop()

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_all(node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._visit_all([node.value])

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave out error messages."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave out assertions, which serve only the type checker."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave out texts."""

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._force(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        self._force(node.test, ("False",))  # with True the loop would never end
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._force(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._force(test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self._swap_between("comparison", left, right, _COMPARED[type(sign)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        signs = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap_between("boolean", left, right, signs)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        of_types = isinstance(node.op, ast.BitOr) and not self._returned  # outside functions | joins types
        if type(node.op) in _COMPUTED and not of_types:
            self._swap_between("arithmetic", node.left, node.right, _COMPUTED[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _COMPUTED:
            old, new = _COMPUTED[type(node.op)]
            self._swap_between("arithmetic", node.target, node.value, (f"{old}=", f"{new}="))
        self._add("statement", *self._span(node), "pass")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start = self._span(node)[0]
        if isinstance(node.op, ast.Not):
            self._add("not", start, start + 3, "")
        elif isinstance(node.op, ast.Invert):
            self._add("not", start, start + 1, "")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._add("constant", *self._span(node), str(not node.value))
        elif isinstance(node.value, int | float):
            self._add("constant", *self._span(node), str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _SWAPPED:
            end = self._span(node.func)[1]
            self._add("call", end - len(name), end, _SWAPPED[name])
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # zip's argument only checks an invariant
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            return
        start, end = self._span(node.value)
        kind = self._returned[-1].partition("[")[0]
        self._add("return", start, end, _RETURNED.get(kind, "None").format(self.source[start:end]))
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            if ast.unparse(node.value.func).partition(".")[0] in {"log", "logger", "logging", "warnings"}:
                return
            self._add("statement", *self._span(node), "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):  # a name would be undefined
            self._add("statement", *self._span(node), "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._add("statement", *self._span(node), "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._add("statement", *self._span(node), "pass")


def find_mutants(file: str, source: str) -> list[Mutant]:
    """Return all mutants of a source."""
    finder = Finder(file, source)
    finder.visit(ast.parse(source))
    return finder.found


def apply_mutant(mutant: Mutant, source: str) -> tuple[int, str] | None:
    """Return the mutant's line number in this source and the mutated source, or None if the text to replace is gone."""
    lines = source.split("\n")
    equal = [number for number, line in enumerate(lines, start=1) if line == mutant.text]
    for number in sorted(equal, key=lambda number: abs(number - mutant.line)):
        start = sum(len(line) + 1 for line in lines[: number - 1]) + mutant.column
        if source.startswith(mutant.original, start):
            return number, source[:start] + mutant.replacement + source[start + len(mutant.original) :]
    return None


def _changes(mutant: Mutant, source: str) -> bool:
    """Return whether the mutated source is valid Python and another program than the source."""
    found = apply_mutant(mutant, source)
    try:
        return found is not None and ast.dump(ast.parse(found[1])) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def list_lines(source: str, line: int) -> tuple[range, bool]:
    """Return the lines of the statement up to this line, and whether they run when the module is imported."""
    statement, inside = 1, False

    def descend(body: Iterator[ast.AST], in_function: bool) -> None:
        nonlocal statement, inside
        for node in body:
            if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
                statement, inside = node.lineno, in_function
                is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                descend(ast.iter_child_nodes(node), in_function or is_function)
            elif isinstance(node, ast.excepthandler | ast.match_case):
                descend(ast.iter_child_nodes(node), in_function)

    descend(ast.iter_child_nodes(ast.parse(source)), False)
    return range(statement, line + 1), not inside


def draw_sample(
    sources: Mapping[str, str], weights: Mapping[str, int], is_tried: Callable[[Mutant], bool], number: int, seed: int
) -> Iterator[Mutant]:
    """Yield `number` mutants, spread over files by weight, at most one for each line.

    The operators of a line are equally likely. A file with too few mutants leaves its share to later files.
    """
    drawing = random.Random(seed)
    total, drawn, reached = sum(weights.values()), 0, 0
    for file in sorted(sources):
        reached += weights[file]
        share = round(number * reached / total) - drawn
        drawn += share
        by_line: dict[int, dict[str, list[Mutant]]] = {}
        for mutant in find_mutants(file, sources[file]) if share else ():
            by_line.setdefault(mutant.line, {}).setdefault(mutant.operator, []).append(mutant)
        for line in drawing.sample(sorted(by_line), len(by_line)):
            if share == 0:
                break
            mutant = drawing.choice(by_line[line][drawing.choice(sorted(by_line[line]))])
            if is_tried(mutant) and _changes(mutant, sources[file]):
                share -= 1
                yield mutant
        drawn -= share
