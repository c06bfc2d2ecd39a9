"""Tests of the public API: examples of docstrings, pages and the notebook run, and type-check in a user's mypy.
They test `optassign.display`."""

import doctest
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import optassign
from optassign.assignor import create

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "docs" / "get-started" / "snapshot.ipynb"
PAGES = ("docs/get-started/snapshot.md", "docs/how-to/instances.md")
FUNCTIONS = [name for name in optassign.__all__ if isinstance(getattr(optassign, name), FunctionType)]
METHODS = ("ApplicationState.with_options", "ApplicationState.to_frame", "TaskAssignment.to_frame", "Comparison.to_frame")


_AS_INSTALLED = """[mypy]
strict = true

[mypy-optassign.*,optassign_models.*]
follow_imports = silent
"""
"""mypy does not see editable installations, so the sources are on its path, and their own errors are silenced."""


def find_examples() -> dict[str, str]:
    """Return name → code of each documented example that uses the installed package only."""
    found = {}
    for name in (*FUNCTIONS, *METHODS):
        documented = optassign
        for part in name.split("."):
            documented = getattr(documented, part)
        examples = doctest.DocTestParser().get_examples(documented.__doc__ or "")
        found[name] = "".join(example.source for example in examples)
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)):
            found[f"{page}-{number}"] = code
    found["notebook"] = "\n\n".join(list_cells())
    return found


def list_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_each_function_has_an_example_that_runs(name: str) -> None:
    module = import_module("optassign")
    documented = module
    for part in name.split("."):
        documented = getattr(documented, part)
    test = doctest.DocTestParser().get_doctest(documented.__doc__ or "", {}, name, None, 0)
    assert test.examples, f"{name} has no example"
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0


def test_the_notebook_runs() -> None:
    space: dict[str, object] = {"__name__": "__main__"}
    shown = 0
    for source in list_cells():
        *statements, last = _split(source)
        exec(compile("\n".join(statements), "notebook", "exec"), space)
        try:
            value = eval(compile(last, "notebook", "eval"), space)
        except SyntaxError:
            exec(compile(last, "notebook", "exec"), space)
            continue
        show = getattr(value, "_repr_html_", None)
        shown += show is not None and "<" in (show() or "")
    assert shown >= 8, "snapshots, answers, comparisons and runs are shown as HTML"


def _split(source: str) -> list[str]:
    """Return the statements of a cell."""
    import ast

    return [ast.get_source_segment(source, node) or "" for node in ast.parse(source).body]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """Return a folder with all examples of the texts, each as a user's file."""
    for number, (name, code) in enumerate(find_examples().items()):
        (tmp_path / f"example_{number}.py").write_text(f"# {name}\n{code}", encoding="utf-8")
    return tmp_path


@pytest.mark.long
def test_mypy_finds_examples_typed(examples: Path) -> None:
    """Mypy is strict, and has neither plug-ins nor settings of this project."""
    settings = examples / "mypy.ini"
    settings.write_text(_AS_INSTALLED, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings), "--cache-dir", str(ROOT / ".mypy_cache/examples")]
    path = os.pathsep.join(map(str, (ROOT, ROOT / "models")))
    environment = {**os.environ, "MYPYPATH": path}
    files = map(str, sorted(examples.glob("*.py")))
    result = subprocess.run([*command, *files], cwd=examples, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_pyright_finds_examples_typed(examples: Path) -> None:
    """Pyright has neither plug-ins nor settings of this project."""
    places = [str(ROOT), str(ROOT / "models"), str(ROOT / "benchmarks")]
    (examples / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "standard", "extraPaths": places}))
    pyright = Path(sys.executable).with_name("basedpyright")  # pyright with its own Node, in the mode of pyright
    result = subprocess.run([pyright, "--pythonpath", sys.executable, "."], cwd=examples, capture_output=True, text=True)
    assert "0 errors" in result.stdout, result.stdout


@pytest.mark.parametrize("function", ["assign", "compare", "converge", "export_model", "simulate", "read_snapshot"])
def test_a_wrong_type_is_a_type_error(function: str) -> None:
    more = ("x.mps",) if function == "export_model" else ()
    with pytest.raises(TypeError, match="found int; allowed: "):
        getattr(optassign, function)(3, *more)


class NotMade:
    """An assignor's class, given in place of an assignor."""

    def configure(self, configs: object) -> None: ...
    def assign(self, state: object) -> None: ...
    def on_assignment_computed(self, *given: object) -> None: ...


@pytest.mark.parametrize("given", [3, NotMade], ids=["int", "class"])
@pytest.mark.parametrize("function", ["assign", "compare", "converge", "simulate"])
def test_no_assignor_is_a_type_error(function: str, given: Any) -> None:
    first = "crash" if function == "simulate" else optassign.generate("steady", tasks=6, clients=2)
    found = "int" if given == 3 else "the class NotMade"
    with pytest.raises(TypeError, match=f"assignor: found {found}; allowed: a name, or an object with the methods of TaskAss"):
        getattr(optassign, function)(first, [given] if function == "compare" else given)


def test_assignors_of_one_name_are_not_compared() -> None:
    state = optassign.generate("steady", tasks=6, clients=2)
    with pytest.raises(optassign.ArgumentError, match="assignors: found 'GreedyAssignor' twice; allowed: each name once"):
        optassign.compare(state, [create("greedy"), create("greedy")])


def test_errors_are_of_one_family() -> None:
    state = optassign.generate("steady", tasks=6, clients=2)
    wrong: dict[type[Exception], Callable[[], object]] = {
        optassign.ArgumentError: lambda: optassign.assign(state, "best"),
        optassign.InputError: lambda: state.with_options(preset="best"),
        optassign.ExportError: lambda: optassign.export_model(state, "model.txt2"),
    }
    out_of_range: tuple[Callable[[], object], ...] = (
        lambda: optassign.simulate("crash", seed=-1),
        lambda: optassign.generate("steady", tasks=6, clients=2, subtopologies=1000),
        lambda: optassign.plan_capacity(
            "crash", optassign.CapacityTarget(load=0.9), ranges=optassign.CapacityRanges(warmups=(1, 2**31))
        ),
    )
    calls: list[tuple[type[Exception], Callable[[], object]]] = [
        *wrong.items(),
        *((optassign.ArgumentError, call) for call in out_of_range),
    ]
    for kind, call in calls:
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, optassign.OptassignError)
        assert "allowed: " in str(caught.value)
        assert "\n" not in str(caught.value)


def test_applied_options_cannot_be_undone() -> None:
    state = optassign.generate("steady", tasks=6, clients=2).with_options(weigh_by="changelog")
    with pytest.raises(optassign.ArgumentError, match="weigh_by"):
        state.with_options(weigh_by="given")
    assert state.with_options(solver="highs").options.weigh_by == "changelog"


def test_html_is_escaped_and_short() -> None:
    state = optassign.generate("steady", tasks=90, clients=30)
    named = state.model_copy(update={"application": "<script>alert(1)</script>"})
    assert "<script>" not in named._repr_html_()
    assert "10 more rows" in state._repr_html_()
