"""Tests of studies with several runs per row: rows can be chosen, and recorded runs are not repeated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from optassign_benchmarks import repeated
from optassign_benchmarks.__main__ import main
from optassign_benchmarks.repeated import ChoiceError, RepeatedCase, RepeatedStudy, Run, RunChoice, RunFile
from optassign_benchmarks.runner import PlayedRow


class Counted:
    """A study whose runs return consecutive numbers, after `before`."""

    def __init__(self, before: int = 0) -> None:
        self.before = before
        self.played: list[str] = []
        self.study = RepeatedStudy("counted", self.list_cases, self.play, self.open, self.summarise, runs=3)

    @staticmethod
    def list_cases(quick: bool) -> Iterator[RepeatedCase]:
        for place in ("here",) if quick else ("here", "there"):
            for size in (2, 16):
                yield RepeatedCase({"place": place, "size": size})

    def play(self, opened: object, case: RepeatedCase) -> Run:
        self.played.append(case.name)
        return {"number": self.before + len(self.played)}

    @contextmanager
    def open(self, folder: Path) -> Iterator[None]:
        yield

    @staticmethod
    def summarise(played: Sequence[tuple[RepeatedCase, Sequence[Run]]]) -> Iterable[PlayedRow]:
        return [
            PlayedRow({**case.facts, "numbers": " ".join(str(run["number"]) for run in runs)}, ("many",) * (len(runs) > 2))
            for case, runs in played
        ]


def test_rounds_of_all_rows_are_played_and_shown_in_the_order_of_cases(tmp_path: Path) -> None:
    counted = Counted()
    (table,), wrong = counted.study.run(choice=RunChoice(runs=2, folder=tmp_path))
    assert counted.played == 2 * ["here, 2", "here, 16", "there, 2", "there, 16"]
    assert table.rows == (("here", 2, "1 5"), ("here", 16, "2 6"), ("there", 2, "3 7"), ("there", 16, "4 8"))
    assert not wrong


def test_an_interrupted_study_continues(tmp_path: Path) -> None:
    first = Counted()
    first.study.run(choice=RunChoice(["there, 16", "here,2"], 1, tmp_path))
    assert first.played == ["here, 2", "there, 16"]
    again = Counted()
    (table,), wrong = again.study.run(choice=RunChoice(["16"], folder=tmp_path))
    assert again.played == ["here, 16", "here, 16", "there, 16", "here, 16", "there, 16"]
    assert [row[:2] for row in table.rows] == [("here", 2), ("here", 16), ("there", 16)]
    assert wrong == ["many", "many"]


def test_runs_of_other_code_are_left_out_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = RunFile(tmp_path / "deep" / "runs.jsonl", {"here, 2": "before"})
    file.append("here, 2", {"number": 1})
    counted = Counted()
    counted.study.run(quick=True, choice=RunChoice(folder=file.file.parent))
    assert counted.played == ["here, 2", "here, 16"]
    assert "1 runs of other code are left out" in capsys.readouterr().err
    assert file.read() == {"here, 2": [{"row": "here, 2", "code": "before", "number": 1}]}


def test_kept_runs_count_on_another_machine_and_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated, "FOLDER", tmp_path)
    here, there = RunChoice(runs=1, folder=tmp_path / "a"), RunChoice(runs=2, folder=tmp_path / "b")
    first, second = Counted(), Counted(before=4)
    first.study.run(choice=here)
    first.study.keep(here)
    (table,), _ = second.study.run(choice=there)
    assert second.played == first.played
    assert table.rows[0] == ("here", 2, "1 5")
    second.study.keep(there)
    second.study.keep(there)
    assert len((tmp_path / "counted-runs.jsonl").read_text(encoding="utf-8").splitlines()) == 8, "each run once"


def test_a_choice_without_rows_says_what_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(ChoiceError, match="found 'here, 4', which no row has; allowed: 16, 2, here, there, several by commas"):
        Counted().study.run(choice=RunChoice(["here", "here, 4"], folder=tmp_path))


def test_the_error_for_an_invalid_line_names_its_place(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text("{}x\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"runs.jsonl, line 1: found '{}x'; allowed: a run as JSON"):
        RunFile(tmp_path / "runs.jsonl", {}).read()


def test_the_digest_of_code_changes_with_a_source_and_with_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeated, "_TOP", tmp_path)
    source = tmp_path / "java/planner/src/main/A.java"
    source.parent.mkdir(parents=True)
    source.write_text("a", encoding="utf-8")
    digest = repeated.digest_code.__wrapped__
    first, other = digest(), digest(("optassign",))
    (tmp_path / "README.md").write_text("more", encoding="utf-8")
    assert digest() == first
    source.write_text("b", encoding="utf-8")
    assert digest() != first
    assert digest(("optassign",)) == other


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["in-time", "--rows", "nowhere"], "--rows: found 'nowhere', which no row has; allowed: 16, 2, 4, Kafka's default"),
        (["in-time", "--runs", "0"], "--runs: found 0; allowed: 1 or more"),
        (["speed", "--rows", "quiet"], "--rows, --runs, --folder: found with speed; allowed with: in-time"),
    ],
)
def test_the_command_refuses_a_choice_in_one_line(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["optassign_benchmarks", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert text in capsys.readouterr().err.splitlines()[-1]
