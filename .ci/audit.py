"""`make audit`: whether a known weakness is in what constraints.txt pins, by pip-audit.

Exit codes: 0 none is known of any; 1 some are; 3 the database has not answered for all of them, so that nothing can be said. An
index that only passes packages on has no such database: pip-audit by itself would call that "no known vulnerabilities".
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNKNOWN = 3


def judge(done: "subprocess.CompletedProcess[str]") -> tuple[int, str]:
    """(exit code, what to say) of a run of pip-audit."""
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return UNKNOWN, f"the database of weaknesses cannot be reached: nothing is known ({last[:300]})"
    found = [
        f"{each['name']} {each['version']}: {weakness['id']}, mended in {', '.join(weakness['fix_versions']) or 'no version'}"
        for each in dependencies
        for weakness in each.get("vulns", [])
    ]
    if found:
        return 1, "\n".join(found)
    skipped = sum("skip_reason" in each for each in dependencies)
    if skipped or not dependencies:
        return (
            UNKNOWN,
            f"the database of weaknesses does not answer for {skipped} of {len(dependencies)} packages: nothing is known",
        )
    return 0, f"no weakness is known of any of {len(dependencies)} packages"


def main() -> int:
    """Ask, and say what was found."""
    tool = Path(sys.executable).with_name("pip-audit")
    requirements = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "constraints.txt")
    command = [str(tool), "--requirement", requirements, "--no-deps", "--disable-pip", "--format", "json"]
    code, message = judge(subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, check=False))
    print(f"audit: {message}")
    return code


if __name__ == "__main__":
    sys.exit(main())
