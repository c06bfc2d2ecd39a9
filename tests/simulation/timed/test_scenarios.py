"""Files of scenarios: what is wrong with one is said with place, found and allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign.formats.input_errors import InputError
from optassign.simulation.timed.reading import list_library, read_scenario

GOOD = """
name = "x"
duration_s = 100
[[subtopologies]]
partitions = 2
[[clients]]
count = 2
"""


def test_the_library_can_be_read_by_name() -> None:
    assert {read_scenario(name).name for name in list_library()} == set(list_library())
    assert "scale-out" in list_library()


@pytest.mark.parametrize(
    ("more", "place", "found"),
    [
        ('[[events]]\nat = 5\ndo = "explode"\nclients = ["c1"]', "events[0].do", "explode"),
        ('[[events]]\nat = 5\ndo = "crash"\nclients = ["c7"]', "events[0].clients", "c7"),
        ('[[events]]\nat = 5\ndo = "crash"', "events[0]", "none"),
        ('[[events]]\nat = -5\ndo = "crash"\nclients = ["c1"]', "events[0].at", "-5"),
        ("[[clients]]\ncount = 3", "clients", "a second time"),
        ("[group]\nprotocol = 7", "group.protocol", "7"),
        ("[grop]\n", "grop", "grop"),
    ],
)
def test_what_is_wrong_is_said(more: str, place: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(GOOD + more)
    with pytest.raises(InputError) as caught:
        read_scenario(str(path))
    assert place in str(caught.value)
    assert found in str(caught.value)


def test_a_name_that_is_nothing_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="scale-out"):
        read_scenario("scale-up")
