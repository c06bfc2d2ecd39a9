"""Measure the share of small faults in the Java planner that the tests of planner, client and plug-in catch.

The command needs a JDK and Maven. PIT makes at most two mutants of each class. They depend on the planner's sources alone, so
results of different tests are comparable:

    python tests/mutants/run_java.py --results FILE
    python tests/mutants/run_java.py --results FILE --before FILE   lists mutants that those results caught and these do not
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
JAVA = ROOT / "java"
SOURCES = JAVA / "planner" / "src" / "main" / "java"
WORK = ROOT / "build" / "mutants" / "java"
MODULES = ("planner", "client", "plugin")
"""The modules with tests of the planner; the last module's dependencies include those of the others."""
CAUGHT = frozenset({"KILLED", "TIMED_OUT", "MEMORY_ERROR", "RUN_ERROR"})
MOST_OF_A_CLASS = 2
TESTS = "io.github.optassign.*Test"
RANDOM_TESTS = "io.github.optassign.*FuzzTest"
"""Excluded tests, which draw other cases in each run."""

Row = dict[str, str | int]


def find_classpath() -> str:
    """Compile the modules; return the class path of PIT, the tests and their dependencies."""
    goals = ["test-compile", "dependency:build-classpath", f"-Dmdep.outputFile={WORK / 'classpath'}"]
    for module in MODULES:  # each module overwrites the file with its own class path
        subprocess.run(["mvn", "-q", "-B", "-f", JAVA / "pom.xml", "-pl", module, "-am", *goals], check=True)
    jars = ["dependency:copy-dependencies", f"-DoutputDirectory={WORK / 'pit'}"]
    subprocess.run(["mvn", "-q", "-B", "-f", Path(__file__).with_name("pit.xml"), *jars], check=True)
    classes = [JAVA / module / "target" / kind for module in MODULES for kind in ("test-classes", "classes")]
    return ":".join([f"{WORK / 'pit'}/*", *map(str, classes), (WORK / "classpath").read_text(encoding="utf-8").strip()])


def run_pit(classpath: str) -> Path:
    """Try all mutants; return the path of PIT's report."""
    options = {
        "reportDir": WORK / "report",
        "sourceDirs": SOURCES,
        "mutableCodePaths": JAVA / "planner" / "target" / "classes",
        "targetClasses": "io.github.optassign.*",
        "targetTests": TESTS,
        "excludedTestClasses": RANDOM_TESTS,
        "features": f"+CLASSLIMIT(limit[{MOST_OF_A_CLASS}])",
        "outputFormats": "XML",
        "timestampedReports": "false",
        "skipFailingTests": "true",
        "jvmArgs": "-Xmx1g",  # a mutant that fills the heap ends soon
        "timeoutConst": 30_000,  # ms; the machine may be busy
        "threads": 1,
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    main = "org.pitest.mutationtest.commandline.MutationCoverageReport"
    with (WORK / "pit.log").open("wb") as log:  # in the module's folder, since tests read files by relative paths
        command = ["java", "-cp", classpath, main, *arguments]
        subprocess.run(command, cwd=JAVA / MODULES[-1], check=True, stdout=log, stderr=log)
    return WORK / "report" / "mutations.xml"


def read_report(report: Path) -> list[Row]:
    """Return the mutants of a report, each with the text of its line."""
    rows: list[Row] = []
    for mutation in ElementTree.parse(report).iter("mutation"):
        found = {part.tag: part.text or "" for part in mutation}
        line = int(found["lineNumber"])
        file = SOURCES / Path(*found["mutatedClass"].split(".")[:-1]) / found["sourceFile"]
        row: Row = {
            "file": file.relative_to(ROOT).as_posix(),
            "line": line,
            "text": file.read_text(encoding="utf-8").splitlines()[line - 1],
            "method": f"{found['mutatedClass']}.{found['mutatedMethod']}{found['methodDescription']}",
            "operator": found["mutator"].rpartition(".")[2],
            "description": found["description"],
            "result": mutation.get("status", ""),
            "by": found.get("killingTest", ""),
        }
        rows.append(row)
    return sorted(rows, key=lambda row: (row["file"], row["line"], row["method"], row["description"]))


def compare(before: list[Row], after: list[Row]) -> int:
    """Print the mutants that were caught before and are now missing or not caught; return their number."""
    names = ("file", "text", "method", "operator", "description")
    caught = Counter(tuple(row[name] for name in names) for row in after if row["result"] in CAUGHT)
    lost = 0
    for row in before:
        key = tuple(row[name] for name in names)
        if row["result"] in CAUGHT and not caught[key]:
            lost += 1
            print(f"no longer caught: {row['file']}:{row['line']} {row['description']}; before by {row['by']}")
        caught[key] -= row["result"] in CAUGHT
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True, help="file to write")
    parser.add_argument("--before", type=Path, help="results to compare with")
    given = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    rows = read_report(run_pit(find_classpath()))
    given.results.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows)}; " + ", ".join(f"{n} {what}" for what, n in Counter(row["result"] for row in rows).most_common()))
    if given.before is None:
        return 0
    before = [json.loads(line) for line in given.before.read_text(encoding="utf-8").splitlines()]
    return 1 if compare(before, rows) else 0


if __name__ == "__main__":
    sys.exit(main())
