"""Tests of help texts, and of errors in arguments or input, which are one line each. They test `optassign.cli.arguments`."""

import re
import shlex
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from command_line import run_here, run_process

from optassign.cli.commands.answers.generate import SHAPES
from optassign.cli.commands.completion import SHELLS
from optassign.cli.common import list_assignors
from optassign.cli.parser import COMMANDS, make_parser
from optassign.generating import SHAPES as GENERATED


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "--help")
    assert (code, err) == (0, "")
    for command in COMMANDS:
        assert f"\n  {command} " in out


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(capsys) == run_here(capsys, "--help")
    for group in ("record", "benchmark"):
        assert run_here(capsys, group) == run_here(capsys, group, "--help")


@pytest.mark.parametrize("width", ["80", "100", "120"])
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_an_example(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    code, out, err = run_here(capsys, command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: optassign {command} ")
    about = COMMANDS[command].ABOUT
    assert about in " ".join(out.split())
    assert re.match(r"[A-Z][a-z]+\b", about), "a sentence that begins with what the command does"
    (example, *_) = COMMANDS[command].EXAMPLE.splitlines()
    assert example.startswith(command)
    assert f"\n  optassign {example}\n" in out
    assert max(map(len, out.splitlines())) <= int(width)


@pytest.mark.parametrize("example", [e for command in COMMANDS.values() for e in command.EXAMPLE.splitlines()])
def test_the_examples_can_be_parsed(example: str) -> None:
    for part in example.split(" | optassign "):
        arguments = shlex.split(part.partition(" > ")[0].removesuffix(" | source"))
        assert make_parser().parse_args(arguments).command == arguments[0]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["asign", "S"], "assign"),
        (["assign", "S", "--formt", "json"], "--format"),
        (["benchmark", "contineu"], "continue"),
        (["assign", "S", "--format", "jsn"], "json"),
    ],
)
def test_a_misspelt_word_gets_a_suggestion(capsys: pytest.CaptureFixture[str], arguments: list[str], meant: str) -> None:
    code, out, err = run_here(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"did you mean {meant}?" in err


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_code_for_the_shell(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    code, out, err = run_here(capsys, "completion", shell)
    assert (code, err) == (0, "")
    assert "_ARGCOMPLETE" in out
    assert "optassign" in out


@pytest.mark.parametrize(
    ("line", "found"),
    [("optassign ass", {"assign "}), ("optassign assign --js", {"--json "}), ("optassign completion f", {"fish "})],
)
def test_completion_lists_the_next_words(tmp_path: Path, line: str, found: set[str]) -> None:
    answer = tmp_path / "answer"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(answer), "_ARGCOMPLETE_IFS": "\n"}
    run_process(**asked, COMP_LINE=line, COMP_POINT=str(len(line)))
    assert set(answer.read_text(encoding="utf-8").splitlines()) == found


def test_an_assignor_that_is_named_twice_counts_once() -> None:
    assert list_assignors("greedy, sticky,greedy") == ["greedy", "sticky"]


def test_help_and_bad_usage_load_nothing_heavy() -> None:
    script = "import sys\nfrom optassign.cli import main\ntry:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
    script += "print('LOADED', *sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    for arguments in (["--help"], ["benchmark", "--help"], ["assign"]):
        result = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        loaded = set(result.stderr.rpartition("LOADED")[2].split())
        assert not loaded & {"pydantic", "numpy", "ortools", "rich", "pandas", "pyspark", "optassign_benchmarks"}, arguments


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "--version")
    assert code == 0
    assert out.startswith("optassign ")


def test_the_help_lists_the_shapes_of_the_generator() -> None:
    assert SHAPES == GENERATED


def test_without_the_packages_of_spark_one_line_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands = (["benchmark", "run", "--preset", "smoke"], ["replay", str(tmp_path)])
    for missing, command in product(("pyspark", "pyarrow"), commands):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            found = run_here(capsys, *command, "--output", str(tmp_path / "out"))
        line = f"optassign {command[0]}: error: found no {missing}; needed: pip install 'optassign-benchmarks[spark]'\n"
        assert found == (2, "", line)


def test_without_the_benchmarks_one_line_says_how_to_install_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "optassign_benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "optassign_benchmarks", None)
    begin = ["benchmark", "run", "--preset", "smoke", "--output", str(tmp_path / "out")]
    replay = ["replay", str(tmp_path), "--output", str(tmp_path / "out")]
    for command in (begin, ["benchmark", "continue", str(tmp_path)], ["benchmark", "report", str(tmp_path)], replay):
        found = run_here(capsys, *command)
        needed = "it needs optassign-benchmarks, which is not installed: pip install 'optassign-benchmarks[spark]'"
        assert found == (2, "", f"optassign {command[0]}: error: {needed}\n")


# Errors are one line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "found 'frobnicate'; allowed: demo, inspect, assign, "),
        (["assign"], "the following arguments are required: SNAPSHOT"),
        (["assign", "S", "--frobnicate"], "unknown option --frobnicate"),
        (["assign", "S", "--assign", "cp-sat"], "unknown option --assign; did you mean --assignor?"),
        (["assign", "S", "--time-limit", "-1"], "found '-1'; allowed: seconds, or a duration such as 90s, 15min or 2h"),
        (["assign", "S", "--time-limit", "nan"], "found 'nan'; allowed: seconds, or a duration"),
        (["assign", "S", "--time-limit", "inf"], "found 'inf'; allowed: seconds, or a duration"),
        (["assign", "S", "--time-limit", "1e400"], "found '1e400'; allowed: seconds, or a duration"),
        (["assign", "S", "--time-limit", "4000000d"], "at most 300 years"),
        (["assign", "S", "--time-limit", "soon"], "found 'soon'; allowed: seconds, or a duration"),
        (["assign", "S", "--format", "xml"], "found 'xml'; allowed: table, json"),
        (["assign", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat, gap-sticky"),
        (["compare", "S", "--assignors", "keep,best"], "--assignors: found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["compare", "S", "--assignors", ""], "--assignors: found ''; allowed: cold, consumer-sticky, cp-sat"),
        (["converge", "S", "--max-rebalances", "0"], "found 0; allowed: 1 or more"),
        (["converge", "S", "--max-rebalances", "x"], "invalid integer value: 'x'"),
        (["converge", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["explain", "S", "--assignor", "best"], "found 'best'; allowed: cold, consumer-sticky, cp-sat"),
        (["explain", "S", "--task", "9_9"], "--task: found 9_9; allowed: a task of the snapshot, such as 0_0, 0_1, 0_2"),
        (["explain", "S", "--client", "nobody"], "--client: found 'nobody'; allowed: a client of the snapshot, such as "),
        (["explain", "S", "--client", ""], "--client: found ''; allowed: a client of the snapshot, such as "),
        (["validate", "S"], "ASSIGNMENT: found none for a snapshot; allowed: an assignment as JSON"),
        (["validate", "-", "-"], "found - for both SNAPSHOT and ASSIGNMENT"),
        (["explain", "-", "--assignment", "-"], "found - for both SNAPSHOT and ASSIGNMENT"),
        (["validate", "S", "S"], "found"),
        (["assign", "no/such/file"], "no/such/file: found no such file; allowed: a file with JSON"),
        (["assign", "."], ".: found a folder"),
        (
            ["assign", "S", "--output", "no/such/folder/a.json"],
            "a file in a folder that does not exist; allowed: a file",
        ),
        (["assign", "S", "--output", "."], "--output: found '.', a folder; allowed: a file to write, or -"),
        (["assign", "S", "--output", "x" * 300], "(File name too long); allowed: a file to write, or -"),
        (["simulate", "crash", "--events", "no/such/folder/a.json"], "--events: found 'no/such/folder/a.json', a file in"),
        (["compare", "S", "--picture", "."], "--picture: found '.'; allowed: a name that ends with"),
        (["model", "S", "--output", "no/such/folder/a.mps"], "--output: found 'no/such/folder/a.mps', a file in"),
        (["assign", "x" * 300], "found that it cannot be read (File name too long)"),
        (["benchmark", "instances", "counts-scale-out-12x3x1", "--export", "S"], "(File exists)"),
        (["benchmark", "instances", "counts-scale-out-12x3x1", "--size", "tiny"], "found it with a NAME; allowed: one of them"),
        *(
            (["plan-capacity", "crash", "--load", "70%", *more], message)
            for more, message in (
                (["--warmups", "2147483648"], "--warmups: found 2147483648 to 2147483648; allowed: 1 to 2,147,483,647"),
                (["--standbys", "2147483648"], "--standbys: found 2147483648 to 2147483648; allowed: 0 to 2,147,483,647"),
                (["--instances", "100001"], "--instances: found 100001 to 100001; allowed: 1 to 100,000, the least first"),
            )
        ),
        (["generate", "--shape", "odd"], "found 'odd'; allowed: cold, steady"),
        (["generate", "--tasks", "-1"], "found -1; allowed: 0 or more"),
        (["generate", "--clients", "0"], "found 0; allowed: 1 or more"),
        (["generate", "--threads", "0"], "threads: found 0"),
        (["generate", "--threads", "3-1"], "threads: found (3, 1)"),
        (["generate", "--threads", "many"], "invalid integer or N-M value: 'many'"),
        (["generate", "--stateless", "2"], "stateless: found 2.0; allowed: 0 to 1"),
        (["generate", "--subtopologies", "1"], "subtopologies: found 1"),
        (["what-if", "S"], "found no change; allowed: at least one of --standbys, "),
        (["what-if", "S", "--add", "many"], "--add: found many; allowed: an integer from 0 to 1000"),
        (["what-if", "S", "--drain", "nobody"], "--drain: found nobody; allowed: the beginning of a client's process id"),
        (["anonymise"], "the following arguments are required: SNAPSHOT"),
        *(
            (["compare", "S", f"--weights={weights}"], f"--weights: found {weights!r}; allowed: INSTANCE,SUBTOPOLOGY,")
            for weights in ("1000,100", "1000,100,1,1", "1000,100,-1", "1000,100,x", "nan,1,1", "1,inf,1", "")
        ),
        (["compare", "S", "--assignors", "gap-sticky:odd"], "allowed: gap-sticky, gap-sticky:gap, gap-sticky:previous-tasks"),
        (["compare", "S", "--assignors", "greedy:odd"], "found 'greedy:odd'; allowed: greedy"),
        *((["converge", "S", f"--growth={share}"], "--growth") for share in ("-1", "inf", "nan", "much")),
        *(
            (["inspect", "--bootstrap-server", "b:1", "--group", "g", *more], message)
            for more, message in (
                (["--restore-rate", "0"], "--restore-rate: found 0; allowed: more than 0 offsets per second"),
                (["--watch", "--html", "x"], "--html: found it with --watch, which writes recordings; allowed: one of them"),
                (["--topology", "none"], "none: found that it cannot be read (No such file or directory); allowed: what"),
            )
        ),
        (["simulate", "nothing-of-that-name"], "rolling-restart"),
        (["simulate", "crash", "--assignors", "best"], "cp-sat"),
        (["simulate", "crash", "--seed", "-1"], "found -1"),
        (["simulate", "crash", "--replications", "5"], "found 5; allowed: 6 or more"),
        (["simulate", "crash", "--replications", "6", "--events", "x"], "--events: found it with --replications"),
        (["simulate", "--suite", "small", "--replications", "6"], "--replications: found it with --suite"),
        (["simulate"], "neither SCENARIO nor --suite"),
        (["simulate", "crash", "--suite", "small"], "both SCENARIO and --suite"),
        (["simulate", "crash", "--count", "3"], "--count: found it with a scenario"),
        (["simulate", "--suite", "huge"], "small"),
        (["simulate", "--suite", "small", "--count", "0"], "found 0"),
        (["simulate", "--suite", "small", "--picture", "x.png"], "--picture: found it with --suite"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage(
    capsys: pytest.CaptureFixture[str], snapshot: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    code, out, err = run_here(capsys, *(snapshot if argument == "S" else argument for argument in arguments))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1, err
    assert err.startswith("optassign")
    assert message in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["steady.json"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "found an empty text"),
        ("{", "found the end of a truncated text"),
        ("[]", "found an empty list"),
        ('{"format": 2}', "format: found 2; allowed: 1"),
        ('{"format": 1, "configs": {}, "tasks": [], "clients": []}', "clients: found an empty list"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    for command in ("assign", "compare", "converge", "explain", "anonymise"):
        code, out, err = run_here(capsys, command, str(path))
        assert (code, out) == (2, ""), command
        assert err.startswith(f"optassign {command}: error: {path}")
        assert err.count("\n") == 1
        assert message in err


def test_usage_errors_are_one_printable_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Control characters in an argument are escaped in its error, as `make fuzz --kind commands` checks."""
    code, _, error = run_here(capsys, "validate", "a.json", "b.json", "c\u2028d\u202e\x1b[31m")
    assert code == 2
    assert error.endswith("\n")
    assert error[:-1].isprintable()
    assert "c\\u2028d\\u202e\\x1b[31m" in error
