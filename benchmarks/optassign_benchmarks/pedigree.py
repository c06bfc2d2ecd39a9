"""The pedigree of a row: the commit, the versions and the machine that produced it."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

import optassign

__all__ = ["describe_processor", "list_versions", "read_commit"]

_DIGITS = 12
"""Digits of a commit: enough to be unique in any repository."""


@cache
def read_commit(folder: Path = Path(optassign.__file__).parent) -> str:
    """Return the commit of the running sources, or `version X` for a package outside a checkout.

    Changed .py or .toml files give `COMMIT-dirty-DIGEST`, where the digest of the difference distinguishes states.
    """
    commit = _ask_git(folder, "rev-parse", "HEAD")
    # A package that is installed inside another checkout is not one of its files.
    if commit is None or not _ask_git(folder, "ls-files", "--", "__init__.py"):
        return f"version {optassign.__version__}"
    short = commit.decode().strip()[:_DIGITS]
    changed = _ask_git(folder, "diff", "HEAD", "--", ":/*.py", ":/*.toml")
    return f"{short}-dirty-{sha256(changed).hexdigest()[:8]}" if changed else short


def _ask_git(folder: Path, *words: str) -> bytes | None:
    """Return Git's output; None without git, or if the folder is in no repository."""
    try:
        result = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
    except OSError:
        return None
    return result.stdout if result.returncode == 0 else None


@cache
def list_versions() -> dict[str, str]:
    """Return column → version, for Python and Spark."""
    return {"python": platform.python_version(), "spark": version("pyspark")}


@cache
def describe_processor() -> str:
    """Return the processor's model and the number of cores of this machine."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{named[0] if named else model}, {os.cpu_count() or 1} cores"
