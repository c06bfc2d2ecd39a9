"""Tests that numbers that steer behaviour are in policy.toml, or next to their user with a text that has the reason."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POLICY, SERVICE = ROOT / "models" / "optassign_models" / "policy", ROOT / "optassign" / "service"
FACTS = {
    "places of unknown lags in Kafka's order": {"ranks._UNKNOWN_BUT_HOLDER", "ranks._UNKNOWN"},
    "Kafka's": {
        *("jvm.LEAST_JAVA", "PluginConfig.DEFAULT_MAX_POLL_INTERVAL_MS", "PluginConfig.DEFAULT_REQUEST_TIMEOUT_MS"),
        "PluginConfig.DEFAULT_SESSION_TIMEOUT_MS",
    },
    "java.util.HashMap's": {"java_collections.DEFAULT_CAPACITY", "java_collections._FEWEST_BUCKETS_WITH_TREES"},
    "the operating system's": {"cli._INTERRUPTED", "cli._BROKEN_PIPE", "WatchMain.BROKEN", "WatchMain.USAGE"},
    "the calendar's": {"simulator._DAY_S", "WatchMemory.HOUR_MS", "durations._SECONDS"},
    "ranks, of which only the order matters": {"plan._STRICT", "plan._TOGETHER", "plan._IN_ORDER"},
    "units": {"Traits.UNITS"},
}
"""Reason → the constants (module or class, and name) whose values could not be chosen differently."""
ALLOWED = set().union(*FACTS.values())


def list_python(source: str, *, with_texts: bool = True) -> Iterator[str]:
    """Yield the names of a module's numeric constants, except powers, negative marks and indices that count from 0.

    Without `with_texts`, leave out constants with a docstring below.
    """
    body = ast.parse(source).body
    for statement, below in zip(body, [*body[1:], None], strict=True):
        if not with_texts and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            continue
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            numbers = list(read_numbers(statement.value))
            if numbers and any(numbers) and numbers != list(range(len(numbers))) and not is_power(statement.value):
                yield from (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))


def read_numbers(value: ast.expr) -> Iterator[float]:
    """Yield the numbers of a value: single, or in sums, collections, timedelta or frozenset; none if negated."""
    if isinstance(value, ast.Constant) and isinstance(value.value, int | float) and not isinstance(value.value, bool):
        yield value.value
    elif isinstance(value, ast.BinOp):
        yield from (*read_numbers(value.left), *read_numbers(value.right))
    elif isinstance(value, ast.Tuple | ast.List | ast.Set | ast.Dict):
        parts = value.values if isinstance(value, ast.Dict) else value.elts
        found = [list(read_numbers(part)) for part in parts]
        yield from (number for numbers in found if all(found) for number in numbers)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"timedelta", "frozenset"}:
        for part in (*value.args, *(keyword.value for keyword in value.keywords)):
            yield from read_numbers(part)


def is_power(value: ast.expr) -> bool:
    """Return whether a value has a power or a shift: digits of a cost, the range of 64 bits, a fixed-point unit."""
    return any(isinstance(node, ast.LShift | ast.Pow) for node in ast.walk(value))


_JAVA = re.compile(r"\bstatic final [\w<>\[\], ]+? (\w+) =([^;]*);")


def list_java(source: str, *, with_texts: bool = True) -> Iterator[str]:
    """Yield names of static constants with a number, except texts, lambdas, shifts, negative marks and indices from 0 on.

    Without `with_texts`, leave out constants with a Javadoc above.
    """
    source = source if with_texts else re.sub(r"\*/\s*(?:(?:public|private) )?static final [^;]*;", "*/", source)
    text = re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:[^\"\\]|\\.)*\"", '""', source, flags=re.DOTALL)
    place = 0
    for name, value in _JAVA.findall(text):
        if value.strip() == str(place):
            place += 1
        elif (
            re.search(r"(?<![\w.-])(?!0\b)\d", value)
            and not re.search(r"<<|->|MAX_VALUE|^ -\d+$", value)
            and name != "serialVersionUID"
            and "Set.of" not in value
        ):
            yield name


def list_numbers() -> Iterator[str]:
    """Yield `module.NAME` of Python's and `Class.NAME` of Java's numeric constants, except those whose form shows a fact."""
    for tree in ("optassign", "models/optassign_models"):
        for file in sorted((ROOT / tree).rglob("*.py")):
            if file.parent != POLICY and SERVICE not in file.parents:
                stem = file.parent.name if file.stem == "__init__" else file.stem
                found = list_python(file.read_text(encoding="utf-8"), with_texts=tree != "optassign")
                yield from (f"{stem}.{name}" for name in found)
    for module in ("planner", "client", "plugin", "broker", "watch"):
        for file in sorted((ROOT / "java" / module / "src" / "main").rglob("*.java")):
            if file.parent.name != "policy":
                found = list_java(file.read_text(encoding="utf-8"), with_texts=module == "planner")
                yield from (f"{file.stem}.{name}" for name in found)


def test_numbers_are_in_the_policy() -> None:
    """`make policy` generates numbers of both languages and of the engines; those of other rooms have reasons in a text."""
    assert sorted(set(list_numbers()) - ALLOWED) == []


def test_defaults_of_parameters_are_names() -> None:
    """Exceptions are generated groups, whose numbers are options of the command, and baselines, which follow others."""
    found = {
        f"{file.stem}.{function.name}"
        for tree in ("optassign", "models/optassign_models")
        for file in sorted((ROOT / tree).rglob("*.py"))
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for default in (*function.args.defaults, *function.args.kw_defaults)
        if default is not None and any(number not in (0, 1, 2) for number in map(abs, read_numbers(default)))
    }
    assert found == {"snapshots.generate", "chain_goals.__init__", "goal_chain.make_balance_goals"}


def test_every_fact_is_still_there() -> None:
    assert sorted(ALLOWED - set(list_numbers())) == []


@pytest.mark.parametrize(
    "source",
    [
        "LIMIT = 3",
        "_LIMIT: float = 0.5",
        "LIMIT = 8 * 3_600",
        "LIMIT = timedelta(minutes=2)",
        "LIMIT = (1, 2, 4)",
        'LIMIT = {"few": 10}',
    ],
)
def test_a_number_of_a_module_is_found(source: str) -> None:
    assert [name.strip("_") for name in list_python(source)] == ["LIMIT"]


@pytest.mark.parametrize(
    "source",
    ["FAR = 1 << 61", "MOST = 2**63 - 1", "RUNNING = -2", "FIRST, SECOND = 0, 1", 'TEXT = "3"', "LATER = timedelta(seconds=A)"],
)
def test_a_fact_is_no_number_of_the_policy(source: str) -> None:
    assert not list(list_python(source))


def test_a_number_with_its_reason_may_stand_in_a_class() -> None:
    source = "/** The most: a short line. */\n    private static final int MOST = 3;\n\n    static final int LEAST = 2;"
    assert list(list_java(source, with_texts=False)) == ["LEAST"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("private static final int MOST = 3;", ["MOST"]),
        ("static final Duration MOST = Duration.ofSeconds(3);", ["MOST"]),
        ("static final Limits MOST =\n        new Limits(3, X.LEAST);", ["MOST"]),
        ("static final long FAR = 1L << 61; static final int ANY = -1; static final int A = 0; static final int B = 1;", []),
        ('static final String KEY = "3"; // static final int OLD = 3;', []),
    ],
)
def test_a_number_of_a_class_is_found(source: str, found: list[str]) -> None:
    assert list(list_java(source)) == found
