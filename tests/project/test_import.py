"""Tests of the modules that an import loads: packages under their own names, and the solver only for solving."""

import subprocess
import sys


def loaded_after(code: str) -> set[str]:
    """Return the modules that a new interpreter has loaded after running the code."""
    script = f"import sys\n{code}\nprint('LOADED', *sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.rpartition("LOADED")[2].split())


def test_judging_needs_no_solver() -> None:
    names = (
        "formats.state",
        "formats.assignment",
        *(f"judging.{name}" for name in ("validation", "metrics", "explain", "comparison")),
    )
    loaded = loaded_after("\n".join(f"import optassign.{name}" for name in names))
    assert "ortools" not in loaded
    assert not [module for module in loaded if module.startswith("optassign_models.") and "policy" not in module]


def test_greedy_does_not_load_the_solver() -> None:
    # Loading it would be half of the time of `optassign assign --assignor greedy` at 1,000 × 100.
    loaded = loaded_after(
        "from optassign.assignor import assign\nfrom optassign.generating import generate\n"
        "assert assign(generate('scale-out', 12, 3, 1, seed=1), 'greedy').clients"
    )
    assert "optassign.assignors.greedy" in loaded
    assert "ortools" not in loaded
