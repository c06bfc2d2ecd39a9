"""Tests of users' assignors: from a module by --register, or from an installed package by its entry point."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import leave_out_progress, run_here

from optassign.generating import generate

MODULE = '''
from optassign import KafkaStreamsAssignment, TaskAssignment, TaskAssignor
from optassign.assignor import Traits


class Piles(TaskAssignor):
    """Everything on the first client."""

    name = "piles"
    TRAITS = Traits(keeps_rules=False)

    def assign(self, state):
        tasks = {client.process_id: () for client in state.clients}
        tasks[state.clients[0].process_id] = tuple(state.all_tasks)
        clients = tuple(KafkaStreamsAssignment(process_id=name, active=active) for name, active in tasks.items())
        return TaskAssignment(assignor=self.name, clients=clients)


class Fails(Piles):
    name = "fails"

    def assign(self, state):
        return {}["no\\n  such key"]  # fails


class Numbers(Piles):
    name = "numbers"

    def assign(self, state):
        return 5


class Halves(Piles):
    """An answer that Kafka would refuse."""

    name = "halves"

    def assign(self, state):
        given = super().assign(state)
        return given.model_copy(update={"clients": given.clients[1:]})


class CannotBegin(Piles):
    name = "cannot-begin"

    def __init__(self):
        raise OSError("no licence")  # cannot begin


class Breaks(Piles):
    name = "breaks"

    def assign(self, state):
        raise BrokenPipeError("\x1b[31mgone")  # breaks


class Bare(Piles):
    name = "bare"

    def assign(self):
        return None


class Ends(Piles):
    name = "ends"

    def assign(self, state):
        raise SystemExit(0)  # ends


class Nothing:
    pass


class Coloured(Piles):
    name = "a:b"


class Needing(Piles):
    def __init__(self, weights, time_limit):
        self.weights = weights


def make(time_limit):
    return Piles()


make.name, make.TRAITS = "made", Piles.TRAITS
NO_CLASS = 24
'''


KINDS = """

class Kinds(Piles):
    name, VARIANTS = "kinds", ("low", "high")

    def __init__(self, variant="low"):
        pass
"""


def line_of(mark: str) -> int:
    """Return the number of the line of `MODULE` that ends with this comment."""
    return next(number for number, line in enumerate(MODULE.splitlines(), start=1) if line.endswith(f"# {mark}"))


COMMANDS = {
    "assign": ["--assignor", "piles"],
    "explain": ["--assignor", "piles"],
    "compare": ["--assignors", "piles,greedy"],
    "converge": ["--assignor", "piles", "--max-rebalances", "2"],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a user's folder: a module and a snapshot."""
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "snapshot.json").write_text(generate("scale-out", 12, 3, 1, seed=1).model_dump_json(), encoding="utf-8")
    return tmp_path


RunHere = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_in_folder(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[RunHere]:
    """Yield a function that runs a command in the folder, in this process, and returns exit code, output and errors."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield lambda command, *arguments: run_here(capsys, command, "snapshot.json", *arguments)
    sys.modules.pop("mine", None)  # each test has its own module of this name


def run(folder: Path, command: str, *arguments: str, path: Path | None = None) -> tuple[int, str, str]:
    """Run the installed command in the folder; return exit code, standard output and standard error."""
    code = "import sys; sys.path.pop(0); from optassign.cli import main; sys.exit(main())"  # as an installed script
    environment = {**{key: value for key, value in os.environ.items() if key != "PYTHONPATH"}, "COLUMNS": "160"}
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    result = subprocess.run(
        [sys.executable, "-c", code, command, "snapshot.json", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return result.returncode, result.stdout, leave_out_progress(result.stderr)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_asks_a_registered_assignor(command: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder(command, "--register", "mine:Piles", *COMMANDS[command], "--json")
    assert code == (1 if command == "converge" else 0), err  # this assignor breaks rules in every rebalance
    found = json.loads(out)
    if command == "assign":
        assert found["assignor"] == "piles"
    if command == "compare":
        assert set(found["assignors"]) == {"previous", "piles", "greedy"}
        assert found["assignors"]["piles"]["violations"], "shown, and no error: it says that it keeps no rules"


@pytest.mark.parametrize("command", ["assign", "explain", "converge"])
def test_an_assignor_that_ends_the_process_has_failed(command: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder(command, "--register", "mine:Ends", "--assignor", "ends")
    assert (code, out) == (1, "")
    assert f"assignor 'ends' failed: SystemExit: 0 (mine.py, line {line_of('ends')})" in err


def test_a_variant_of_a_registered_assignor_is_asked(folder: Path, run_in_folder: RunHere) -> None:
    (folder / "mine.py").write_text(MODULE + KINDS, encoding="utf-8")
    code, _, err = run_in_folder("assign", "--register", "mine:Kinds", "--assignor", "kinds:high", "--json")
    assert code == 0, err


def test_the_reader_of_an_assignor_is_not_that_of_the_command(run_in_folder: RunHere) -> None:
    """A broken pipe is the assignor's own; control characters of its message are escaped."""
    code, out, err = run_in_folder("assign", "--register", "mine:Breaks", "--assignor", "breaks")
    assert (code, out) == (1, "")
    assert rf"assignor 'breaks' failed: BrokenPipeError: \x1b[31mgone (mine.py, line {line_of('breaks')})" in err


def test_no_line_of_optassign_is_blamed(run_in_folder: RunHere) -> None:
    _, _, err = run_in_folder("assign", "--register", "mine:Bare", "--assignor", "bare")
    assert err.endswith("assignor 'bare' failed: TypeError: Bare.assign() takes 1 positional argument but 2 were given\n")


def test_variants_are_a_list_of_names(folder: Path, run_in_folder: RunHere) -> None:
    (folder / "mine.py").write_text(MODULE + KINDS.replace('("low", "high")', "5"), encoding="utf-8")
    code, _, err = run_in_folder("assign", "--register", "mine:Kinds", "--assignor", "kinds:high")
    assert (code, err.count("\n")) == (1, 1)
    assert "assignor 'kinds': found VARIANTS = 5; allowed: a sequence of names" in err


@pytest.mark.parametrize("command", ["simulate", "plan-capacity"])
def test_a_simulation_ends_with_an_answer_that_kafka_refuses(folder: Path, command: str) -> None:
    words = {"simulate": ["--assignors", "halves"], "plan-capacity": ["--assignor", "halves", "--load", "0.9"]}
    code = "import sys; from optassign.cli import main; sys.exit(main())"
    arguments = ["crash", "--register", "mine:Halves", *words[command]]
    result = subprocess.run([sys.executable, "-c", code, command, *arguments], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 1
    message = f"optassign {command}: error: assignor 'halves' returned an answer that Kafka would refuse: MISSING_PROCESS_ID\n"
    assert leave_out_progress(result.stderr) == message


LEAVING_OUT = [("compare", "--assignors"), ("assign", "--assignor"), ("converge", "--assignor")]


@pytest.mark.parametrize(("command", "option"), LEAVING_OUT)
def test_a_registered_assignor_that_is_left_out_is_named(command: str, option: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder(command, "--register", "mine:Piles", option, "greedy")
    assert (code, out) == (2, "")
    assert f"--register: found 'piles', which {option} leaves out; allowed: an assignor that {option} names" in err


@pytest.mark.parametrize(
    ("place", "name"),
    [("mine:Piles", "piles"), ("other=mine:Piles", "other"), ("mine:make", "made")],
)
def test_the_name_is_given_or_taken_from_the_attribute(place: str, name: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder("compare", "--register", place, "--assignors", f"greedy,{name}", "--json")
    assert (code, err) == (0, "")
    assert name in json.loads(out)["assignors"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mine", "--register: found 'mine'; allowed: [NAME=]MODULE:CLASS"),
        (":Piles", "--register: found ':Piles'; allowed: [NAME=]MODULE:CLASS"),
        ("mine.py:Piles", "--register: found the file 'mine.py'; allowed: its module, as mine:Piles"),
        ("nowhere:Piles", "nowhere:Piles cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("mine:Pile", "mine:Pile cannot be loaded: AttributeError: module 'mine' has no attribute 'Pile'"),
        ("mine:Nothing", "mine:Nothing is no assignor; allowed: a class with the methods of TaskAssignor"),
        ("mine:NO_CLASS", "mine:NO_CLASS is no assignor"),
        ("mine:Needing", "mine:Needing needs weights; allowed: a class or function that needs no arguments but time_limit and"),
        ("mine:Coloured", "whose attribute `name` is 'a:b'; allowed: a name without a colon"),
        ("cp-sat=mine:Piles", "found 'cp-sat', which is taken; allowed: a new name"),
    ],
)
def test_a_failed_registration_is_one_line(place: str, message: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder("compare", "--register", place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("optassign compare: error: --register: found ")
    assert message in err
    assert err.count("allowed: ") == 1


def test_a_module_that_fails_says_where(folder: Path, run_in_folder: RunHere) -> None:
    (folder / "bad.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    code, _, err = run_in_folder("assign", "--register", "bad:Mine")
    assert code == 2
    assert "found that bad:Mine cannot be loaded: ZeroDivisionError: division by zero (bad.py, line 2)" in err
    assert err.count("\n") == 1


FAILURES = {
    "fails": f"KeyError: 'no\\n such key' (mine.py, line {line_of('fails')})",
    "numbers": "assignor 'numbers' returned no TaskAssignment: found int",
    "halves": "returned an answer that Kafka would refuse: ",
    "cannot-begin": f"OSError: no licence (mine.py, line {line_of('cannot begin')})",
}
REGISTER = [part for name in ("Piles", "Fails", "Numbers", "Halves", "CannotBegin") for part in ("--register", f"mine:{name}")]


def test_a_failing_assignor_has_one_line_in_its_column(folder: Path) -> None:
    chosen = ("--assignors", ",".join(["piles", *FAILURES, "greedy"]))
    code, out, err = run(folder, "compare", *REGISTER, *chosen, "--json")
    found = json.loads(out)
    assert (code, err) == (1, "")
    assert list(found["assignors"]) == ["previous", "piles", "greedy"]
    assert list(found["failures"]) == list(FAILURES)
    code, out, _ = run(folder, "compare", *REGISTER, *chosen, "--format", "table")
    assert code == 1
    assert any("greedy" in line and "fails" in line for line in out.splitlines()), "a column of its own"
    assert out.count("failed!") == len(FAILURES)
    for name, message in FAILURES.items():
        assert message in found["failures"][name], found["failures"][name]
        assert sum(line.startswith(f"{name} has no assignment: ") for line in out.splitlines()) == 1
    _, out, _ = run(folder, "compare", *REGISTER, *chosen, "--converge", "--json")
    assert list(json.loads(out)["failures"]) == list(FAILURES)


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("command", ["assign", "explain"])
def test_a_failure_of_the_only_assignor_is_one_line(command: str, name: str, run_in_folder: RunHere) -> None:
    code, out, err = run_in_folder(command, *REGISTER, "--assignor", name)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"optassign {command}: error: ")
    assert FAILURES[name] in err


@pytest.mark.parametrize("name", [name for name in FAILURES if name != "halves"])
def test_a_failure_in_a_convergence_is_one_line(name: str, run_in_folder: RunHere) -> None:
    """A convergence counts answers that Kafka would refuse like other broken rules."""
    code, out, err = run_in_folder("converge", *REGISTER, "--assignor", name)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert FAILURES[name] in err


@pytest.fixture
def installed(folder: Path) -> Path:
    """Return the folder of a package with entry points, as pip installs it."""
    site = folder / "site"
    about = site / "mine-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / "mine.py").rename(site / "mine.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n", encoding="utf-8")
    points = ["piles = mine:Piles", "fails = mine:Fails", "greedy = mine:Piles", "gone = nowhere:Gone"]
    (about / "entry_points.txt").write_text("\n".join(["[optassign.assignors]", *points]), encoding="utf-8")
    return site


def test_an_installed_package_makes_its_assignors_known(folder: Path, installed: Path) -> None:
    code, out, err = run(folder, "compare", "--assignors", "piles,greedy", "--json", path=installed)
    assert code == 0
    assert list(json.loads(out)["assignors"]) == ["previous", "piles", "greedy"]
    assert "skipped assignor 'greedy' of mine:Piles" in err, "ours come first"
    code, out, _ = run(folder, "assign", "--assignor", "piles", "--json", path=installed)
    assert (code, json.loads(out)["assignor"]) == (0, "piles")
    code, _, err = run(folder, "assign", "--assignor", "nobody", path=installed)
    assert code == 2
    assert "piles" in err.partition("allowed: ")[2], "listed among what is allowed"


def test_compare_goes_on_without_an_assignor_that_cannot_be_loaded(folder: Path, installed: Path) -> None:
    code, out, _ = run(folder, "compare", "--assignors", "gone,fails,greedy", "--json", path=installed)
    found = json.loads(out)
    assert code == 1
    assert found["failures"]["gone"] == "nowhere:Gone cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"
    assert list(found["assignors"]) == ["previous", "greedy"]
    code, out, _ = run(folder, "compare", "--json", path=installed)
    assert {"fails", "gone"} <= set(json.loads(out)["failures"]), "all that are installed are asked"
