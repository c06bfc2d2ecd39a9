"""Studies with several runs for each row. Files keep the runs, so that a study can be interrupted and continued.

The folder of a study has the runs of one machine. docs/data/NAME-runs.jsonl has the runs behind docs/data/NAME.json.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from optassign_benchmarks.dependencies import strip_source
from optassign_benchmarks.results import ANSWERS, FOLDER, Table, make_table
from optassign_benchmarks.runner import PlayedRow

__all__ = [
    "ALL_CODE",
    "PLUGIN_CODE",
    "SERVICE_CODE",
    "ChoiceError",
    "RepeatedCase",
    "RepeatedStudy",
    "Run",
    "RunChoice",
    "RunFile",
    "digest_code",
]

_TOP = Path(__file__).resolve().parents[2]
PLUGIN_CODE = tuple(f"java/{module}/src/main" for module in ("planner", "client", "plugin", "shared"))
"""The folders of the jar's sources."""
SERVICE_CODE = (
    *PLUGIN_CODE,
    "optassign/service",
    ANSWERS.as_posix(),
    *(f"models/optassign_models/{name}.py" for name in ("warmups", "solving/followups", "solving/rates", "solving/steps")),
)
"""The sources of the jar and of the service, the digests of the models' answers, and the sources of waits and warm-ups, whose
changes these digests hardly show."""
ALL_CODE = ("optassign", "models/optassign_models", *PLUGIN_CODE)
"""The folders of all of optassign's sources."""
_SUFFIXES = (".py", ".java", ".toml")
Run = Mapping[str, Any]
"""The figures of one run, as JSON."""


class ChoiceError(ValueError):
    """Raised for a choice that matches no row. The text names the allowed values."""


@cache
def digest_code(places: Sequence[str] = ALL_CODE) -> str:
    """Return a digest of sources without their comments, which distinguishes runs of different versions.

    places: folders and files, from the top of the repository.
    """
    files = sorted(file for place in places for file in _list_files(_TOP / place))
    found = hashlib.sha256()
    for file in files:
        text = strip_source(file.suffix, file.read_text(encoding="utf-8"))
        found.update(f"{file.relative_to(_TOP).as_posix()}\0{text}\0".encode())
    return found.hexdigest()[:12]


def _list_files(place: Path) -> Iterable[Path]:
    return [place] if place.is_file() else (file for file in place.rglob("*") if file.suffix in _SUFFIXES)


@dataclass(frozen=True)
class RepeatedCase:
    """A row of a study, named by its facts."""

    facts: Mapping[str, str | int]
    """Label → value; the same labels in all cases of a study."""
    plan: Any = None
    """Further data for `RepeatedStudy.play`."""
    code: Sequence[str] = ALL_CODE
    """The folders and files of the sources that its figures depend on. Runs with another digest of them are left out."""

    @property
    def name(self) -> str:
        """Return the values of its facts, separated by commas."""
        return ", ".join(map(str, self.facts.values()))


@dataclass(frozen=True)
class RunChoice:
    """A choice of rows, of the number of runs, and of the folder."""

    rows: Sequence[str] = ()
    """Texts with values of facts, separated by commas. A text chooses the rows with all its values; no text chooses all
    rows."""
    runs: int | None = None
    """Number of runs of each chosen row, runs of earlier sessions included; None for the study's own number."""
    folder: Path | None = None
    """The folder with the file of runs and the data that all runs share; None for build/NAME."""

    def select(self, cases: Iterable[RepeatedCase]) -> list[RepeatedCase]:
        """Return the chosen cases; ChoiceError if a text matches no row."""
        every = list(cases)
        wanted = [{word.strip() for word in text.split(",")} for text in self.rows]
        for words, text in zip(wanted, self.rows, strict=True):
            if not any(words <= _words(case) for case in every):
                allowed = sorted({word for case in every for word in _words(case)})
                raise ChoiceError(f"--rows: found {text!r}, which no row has; allowed: {', '.join(allowed)}, several by commas")
        return [case for case in every if not wanted or any(words <= _words(case) for words in wanted)]


def _words(case: RepeatedCase) -> set[str]:
    return set(map(str, case.facts.values()))


@dataclass(frozen=True)
class RunFile:
    """A file with one run per line. A killed process loses only its current run."""

    file: Path
    codes: Mapping[str, str]
    """Name of a row → the digest of the sources that its runs must have."""

    def read(self) -> dict[str, list[Run]]:
        """Return name of the row → its runs by the sources of `codes`, oldest first. ValueError names an invalid line."""
        found: dict[str, list[Run]] = {}
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else []
        others = 0
        for number, line in enumerate(lines, start=1):
            try:
                run = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{self.file}, line {number}: found {line[:40]!r}; allowed: a run as JSON") from error
            if run["code"] == self.codes.get(run["row"]):
                found.setdefault(run["row"], []).append(run)
            else:
                others += 1
        if others:
            print(f"# {self.file}: {others} runs of other code are left out", file=sys.stderr)
        return found

    def append(self, row: str, run: Run) -> None:
        """Append a run to the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as out:
            out.write(self._write_line(row, run))

    def replace(self, runs: Mapping[str, Iterable[Run]]) -> None:
        """Replace all runs of the file by these: name of the row → its runs."""
        lines = [self._write_line(row, run) for row, of_row in runs.items() for run in of_row]
        self.file.write_text("".join(lines), encoding="utf-8")

    def _write_line(self, row: str, run: Run) -> str:
        return json.dumps({"row": row, **run, "code": self.codes[row]}, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class RepeatedStudy:
    """A study as a record, with rows that summarise several runs each."""

    name: str
    cases: Callable[[bool], Iterable[RepeatedCase]]
    """Returns the cases; the argument is whether the run is quick."""
    play: Callable[[Any, RepeatedCase], Run]
    """Plays a case once with the object from `open`, and returns the figures."""
    open: Callable[[Path], AbstractContextManager[Any]]
    """Opens the object that all runs share. The argument is a folder that stays between sessions."""
    summarise: Callable[[Sequence[tuple[RepeatedCase, Sequence[Run]]]], Iterable[PlayedRow]]
    """Returns the rows of all cases with runs."""
    runs: int = 10
    """Number of runs of each row."""
    caption: str = field(default="")

    def run(self, *, quick: bool = False, choice: RunChoice | None = None) -> tuple[list[Table], list[str]]:
        """Play the missing runs of the chosen rows; return the table of all rows with runs, and the faults.

        A quick study plays each row once, in the folder build/NAME-quick. ChoiceError if the choice matches no row.
        """
        choice = choice or RunChoice()
        folder = self._find_folder(quick, choice)
        cases = list(self.cases(quick))
        file, kept = _list_runs(folder / "runs.jsonl", cases), None if quick else self._find_kept(cases)
        chosen = choice.select(cases)
        wanted = choice.runs or (1 if quick else self.runs)
        found = _read_both(file, kept)
        # Round by round, so that hours with a different load of the machine affect all rows.
        missing = [case for n in range(wanted) for case in chosen if len(found.get(case.name, ())) <= n]
        if missing:
            with self.open(folder) as opened:
                for case in missing:
                    run = self.play(opened, case)
                    file.append(case.name, run)
                    print(case.name, json.dumps(run, ensure_ascii=False), sep=": ", file=sys.stderr, flush=True)
        played = _read_both(file, kept)
        rows = list(self.summarise([(case, played[case.name]) for case in cases if case.name in played]))
        table = make_table(tuple(rows[0].cells), [tuple(row.cells.values()) for row in rows], self.caption)
        return [table], [fault for row in rows for fault in row.faults]

    def keep(self, choice: RunChoice) -> None:
        """Write the runs of the table of a full study into docs/data, so that a study on another machine adds to them."""
        cases = list(self.cases(False))
        kept = self._find_kept(cases)
        kept.replace(_read_both(_list_runs(self._find_folder(False, choice) / "runs.jsonl", cases), kept))

    def _find_folder(self, quick: bool, choice: RunChoice) -> Path:
        return choice.folder or Path("build") / (f"{self.name}-quick" if quick else self.name)

    def _find_kept(self, cases: Iterable[RepeatedCase]) -> RunFile:
        return _list_runs(FOLDER / f"{self.name}-runs.jsonl", cases)


def _list_runs(file: Path, cases: Iterable[RepeatedCase]) -> RunFile:
    return RunFile(file, {case.name: digest_code(case.code) for case in cases})


def _read_both(own: RunFile, kept: RunFile | None) -> dict[str, list[Run]]:
    """Return name of the row → its runs: the kept runs first, then the other runs of the folder."""
    runs = {} if kept is None else kept.read()
    for row, of_row in own.read().items():
        runs[row] = [*runs.get(row, ()), *(run for run in of_row if run not in runs.get(row, ()))]
    return {row: runs[row] for row in own.codes if row in runs}
