"""The sources that a study's figures depend on, in addition to the answers: the study's modules, and the planner's in Java.

A digest of sources does not change with comments, docstrings, imports or layout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from optassign_benchmarks.studies import STUDIES

__all__ = ["digest_sources", "list_changed", "strip_source"]

_TOP = Path(__file__).resolve().parents[2]
_PACKAGE = "optassign_benchmarks"
_STUDY, _PLANNER = "the study", "the planner in Java"
_RUNS_PLANNER = frozenset(
    {
        *("adopting", "at-rest", "broker-faults", "cold-starts", "failover", "in-time", "jvm-planner", "leader-death"),
        *("lost-tasks", "own-arrangement", "planner-load", "rolling-restarts", "soak", "streams-groups", "time-to-balance"),
        *("uneven-load", "worst-time"),
    }
)
"""Studies in which the planner of the jars answers."""
_COMMANDS = {
    "instances": "instances.leaderboard",
    "soak": "soak.__main__",
}
"""Studies with their own commands → their module."""
Read = Callable[[str], str | None]
"""Returns the text of a file by its path from the top of the repository; None if the file does not exist."""


def digest_sources(name: str, read: Read | None = None, planner: str | None = None) -> dict[str, str]:
    """Return name of the sources → digest, for the sources that a study depends on.

    Args:
        name: the name of the study's file in docs/data.
        read: reads the texts of modules; None for this checkout.
        planner: the sources of the planner in Java; None for those of this checkout.

    Returns:
        Empty for a study without known sources.
    """
    found: dict[str, str] = {}
    module = STUDIES[name].partition(":")[0] if name in STUDIES else None
    first = f"studies.{module}" if module is not None else _COMMANDS.get(name)
    if first is not None:
        texts = dict(sorted(_follow_imports(first, read or _read_here)))
        found[_STUDY] = _digest("\0".join(f"{path}\0{text}" for path, text in texts.items()))
    if name in _RUNS_PLANNER:
        found[_PLANNER] = _digest(_strip_java(_read_planner() if planner is None else planner))
    return found


def list_changed(name: str, recorded: Mapping[str, str]) -> list[str]:
    """Return the names of the sources that have changed since a study's run, among those whose digests were recorded."""
    now = digest_sources(name)
    return [what for what, digest in recorded.items() if what in now and now[what] != digest]


def _follow_imports(first: str, read: Read) -> Iterator[tuple[str, str]]:
    """Yield the path and stripped text of a module and of each module of its folder that it imports."""
    waiting, seen, folder = [first], {first}, first.rpartition(".")[0]
    while waiting:
        module = waiting.pop()
        path = f"benchmarks/{_PACKAGE}/{module.replace('.', '/')}.py"
        text = read(path)
        if text is None:  # a package, or a name that is not a module
            continue
        tree = ast.parse(text)
        yield path, _strip(ast.parse(text))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{_PACKAGE}"):
                base = (node.module or "").removeprefix(_PACKAGE).removeprefix(".")
                names = [base, *(f"{base}.{alias.name}".removeprefix(".") for alias in node.names)]
                new = [name for name in names if name and name not in seen and name.rpartition(".")[0] == folder]
                seen.update(new)
                waiting += new


def strip_source(suffix: str, text: str) -> str:
    """Return the text of a file without its comments, if its suffix is that of Python or Java."""
    if suffix == ".py":
        return _strip(ast.parse(text))
    return _strip_java(text) if suffix == ".java" else text


def _strip(tree: ast.Module) -> str:
    """Return the code of a module without imports and stand-alone texts."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [each for each in body if not _is_left_out(each)] or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _is_left_out(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _read_here(path: str) -> str | None:
    file = _TOP / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def _read_planner() -> str:
    folder = _TOP / "java" / "planner" / "src" / "main"
    files = sorted(folder.rglob("*.java"))
    return "\0".join(f"{file.relative_to(_TOP).as_posix()}\0{file.read_text(encoding='utf-8')}" for file in files)


def _strip_java(text: str) -> str:
    """Return Java code without comments, and with each white space as one blank."""
    return re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]
