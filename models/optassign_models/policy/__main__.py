"""`python -m optassign_models.policy`, or `make policy`: the constants of Python and Java, made anew from `policy.toml`.

With `--check` nothing is written: each file that is not fresh is named, and the exit code is 1. A fault in `policy.toml` is
named with its place, what was found and what is allowed; the exit code is 2.
"""

import argparse
import sys
from pathlib import Path

from optassign_models.policy.generating import PolicyError, list_outputs

FOLDER = Path(__file__).parent
JAVA = FOLDER.parents[2] / "java"


def main() -> int:
    """Write what is not fresh, or name it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m optassign_models.policy", description="Constants made of policy.toml.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if something is not fresh")
    check = parser.parse_args().check
    try:
        outputs = list_outputs((FOLDER / "policy.toml").read_text(encoding="utf-8"), FOLDER, JAVA)
    except PolicyError as error:
        print(f"policy.toml: {error}", file=sys.stderr)
        return 2
    stale = {path: text for path, text in outputs.items() if not path.exists() or path.read_text(encoding="utf-8") != text}
    for path, text in stale.items():
        if check:
            print(f"{path}: is not what policy.toml says; run `make policy`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(path)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
