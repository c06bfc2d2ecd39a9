"""`optassign watch`: start the Java program that triggers assignments in a broker when warm-ups have caught up."""

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from optassign.cli.arguments import accept_durations
from optassign.cli.output import UsageError

ABOUT = "Trigger assignments in a broker when warm-ups have caught up"
EXAMPLE = "watch --config admin.properties --dry-run"
_JAR = "OPTASSIGN_WATCH_JAR"
"""Environment variable with the path of the jar, if the jar is not built in a checkout."""
_SOURCES = "OPTASSIGN_JAVA"
"""Environment variable with the folder of the Maven modules, if it is not the repository's `java`."""
_BUILD = "mvn -f java/pom.xml -pl watch -am -DskipTests -Dstyle.skip package"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `watch`."""
    add = parser.add_argument
    add(
        "--config",
        required=True,
        metavar="FILE",
        help="read properties of Kafka's Admin client and optassign.watch.* from this file (docs/how-to/broker.md)",
    )
    add("--groups", metavar="NAME,…", help="watch these groups (default: all that optassign assigns)")
    add("--interval", type=accept_durations(), metavar="TIME", help="look this often (default: 10)")
    add("--metrics", metavar="HOST:PORT", help="serve /metrics for Prometheus here (default: nowhere)")
    add("--dry-run", action="store_true", help="print the changes, and make none")
    add("--once", action="store_true", help="look once, act where it is due, restore changed settings, and end")
    add("--jar", metavar="FILE", help=f"run this optassign-watch.jar (default: ${_JAR}, or the one that a checkout has built)")


def run(arguments: Namespace) -> int:
    """Replace this process by the Java program, so that signals reach the program. UsageError without Java or jar."""
    command = [_find_java(), "-jar", str(_find_jar(arguments.jar)), "--config", arguments.config]
    for option in ("groups", "interval", "metrics"):
        value = getattr(arguments, option)
        if value is not None:
            command += [f"--{option}", str(value)]
    command += ["--dry-run"] * arguments.dry_run + ["--once"] * arguments.once
    sys.stdout.flush()
    if os.name == "posix":
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def _find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = (shutil.which("java", path=str(Path(home) / "bin")) if home else None) or shutil.which("java")
    from optassign.assignors.baselines.jvm import LEAST_JAVA  # not needed by other commands

    allowed = f"allowed: Java {LEAST_JAVA} or later in JAVA_HOME or on PATH"
    if java is None:
        raise UsageError(f"watch: found no java; {allowed}")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace", check=False).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', printed)
    if version is None or int(version[1]) < LEAST_JAVA:
        raise UsageError(f"watch: found {java}, which is {version[0] if version else 'of no known version'}; {allowed}")
    return java


def _find_jar(chosen: str | None) -> Path:
    for name, value in (("--jar", chosen), (_JAR, os.environ.get(_JAR))):
        if value:
            if not Path(value).is_file():
                raise UsageError(f"{name}: found no file {value}; allowed: optassign-watch.jar")
            return Path(value)
    sources = os.environ.get(_SOURCES)
    folder = Path(sources) if sources else Path(__file__).resolve().parents[4] / "java"
    built = sorted((folder / "watch" / "target").glob("optassign-watch-*.jar"))
    if not built:
        raise UsageError(f"--jar: found none, nor one built in a checkout; allowed: optassign-watch.jar, made by {_BUILD}")
    return built[-1]
