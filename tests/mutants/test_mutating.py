from __future__ import annotations

import pytest
from mutating import Mutant, apply_mutant, draw_sample, find_mutants, list_lines

SOURCE = '''"""Text with 1 number."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Copies = dict[str, int | None]

LIMIT = 3


def find_least(values: list[int], least: int = 0) -> bool:
    """Another 2."""
    if not values:
        raise ValueError(f"none of {len(values) + 1}")
    log.warning("%s", 5)
    values[0] = min(values)
    return (
        least < LIMIT
        and values[0] - 1 == least
    )
'''


def list_faults(source: str) -> list[tuple[str, str]]:
    return [(mutant.original, mutant.replacement) for mutant in find_mutants("x.py", source)]


def test_annotations_texts_and_logs_have_no_mutants() -> None:
    value = "least < LIMIT\n        and values[0] - 1 == least"
    assert list_faults(SOURCE) == [
        ("3", "4"),
        ("0", "1"),
        ("not values", "True"),
        ("not values", "False"),
        ("not", ""),
        ("values[0] = min(values)", "pass"),
        ("0", "1"),
        ("min", "max"),
        (value, f"not ({value})"),
        ("and", "or"),
        ("<", "<="),
        ("==", "!="),
        ("-", "+"),
        ("0", "1"),
        ("1", "2"),
    ]


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("x = (a) <= (b)", ("<=", "<")),
        ("x = a not in b", ("not in", "in")),
        ("x = 'é' + a", ("+", "-")),
        ("x //= y", ("//=", "*=")),
        ("x = [a for a in b if a]", ("a", "False")),
        ("while going: pass", ("going", "False")),
        ("x = ~a", ("~", "")),
        ("x = np.minimum(a, b)", ("minimum", "maximum")),
        ("going = True", ("True", "False")),
        ("def f() -> dict[str, int]:\n    return found", ("found", "{}")),
        ("def f() -> Plan:\n    return found", ("found", "None")),
        ("for a in b:\n    break", ("break", "pass")),
        ("found.append(a)", ("found.append(a)", "pass")),
    ],
)
def test_each_kind_of_mutant(source: str, fault: tuple[str, str]) -> None:
    assert fault in list_faults(source)


def test_each_mutant_is_found_again_in_a_changed_source() -> None:
    for mutant in find_mutants("x.py", SOURCE):
        found = apply_mutant(mutant, f"import a\n{SOURCE}")
        assert found is not None
        assert found[0] == mutant.line + 1
        compile(found[1], "x.py", "exec")


def test_the_nearest_of_equal_lines_is_chosen() -> None:
    mutant = Mutant("x.py", 3, 4, "x = 1", "constant", "1", "2")
    assert apply_mutant(mutant, "x = 1\n\n\nx = 1\n") == (4, "x = 1\n\n\nx = 2\n")


def test_a_mutant_of_a_removed_line_is_gone() -> None:
    assert apply_mutant(Mutant("x.py", 1, 4, "x = 1", "constant", "1", "2"), "x = 3\n") is None


def test_lines_of_a_statement() -> None:
    assert list_lines(SOURCE, 20) == (range(17, 21), False)
    assert list_lines(SOURCE, 8) == (range(8, 9), True)
    assert list_lines(SOURCE, 11) == (range(11, 12), True)


def test_a_sample_is_the_same_each_time() -> None:
    sources, weights = {"a.py": SOURCE, "b.py": SOURCE, "c.py": SOURCE}, {"a.py": 1, "b.py": 3, "c.py": 0}
    first, second = (list(draw_sample(sources, weights, lambda _: True, 4, seed=1)) for _ in range(2))
    assert first == second
    assert [mutant.file for mutant in first] == ["a.py", "b.py", "b.py", "b.py"]
    assert len({(mutant.file, mutant.line) for mutant in first}) == 4
