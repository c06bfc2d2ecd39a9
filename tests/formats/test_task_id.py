"""Tests of task ids: valid texts, refused texts, and their order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optassign.formats.task_id import INT32_MAX, TaskId


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("0_0", ("", 0, 0)),
        ("12_345", ("", 12, 345)),
        ("2147483647_2147483647", ("", INT32_MAX, INT32_MAX)),
        ("orders__1_2", ("orders", 1, 2)),
        ("with_one__1_2", ("with_one", 1, 2)),
        ("with__two__1_2", ("with__two", 1, 2)),
        ("ends___1_2", ("ends_", 1, 2)),
        ("0_1__2_3", ("0_1", 2, 3)),
        ("für__1_2", ("für", 1, 2)),
    ],
)
def test_parses(text: str, parsed: tuple[str, int, int]) -> None:
    assert TaskId.parse(text) == parsed
    assert str(TaskId.parse(text)) == text
    assert TaskId.parse(text).subtopology_key == parsed[:2]


@pytest.mark.parametrize(
    "text",
    [
        "", "0", "_", "0_", "_0", "00_1", "0_03", "+0_1", "0_+1", "-1_0", "0_-1", " 0_1", "0_1 ", "0_1\n", "0__1",
        "__0_1", "a_0_1", "0_1_2", "2147483648_0", "0_2147483648", "0_99999999999", "1.0_0", "0x1_0", "\u0661_0",
        "a\nb__0_1",
    ],
)  # fmt: skip
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="allowed: <subtopology>_<partition>"):
        TaskId.parse(text)


def test_sorts_by_name_then_numbers() -> None:
    ordered = ["0_2", "0_10", "2_0", "10_0", "a__3_0", "a__20_0", "b__0_0"]
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=TaskId.parse) == ordered


@given(st.text(st.characters(codec="utf-8", exclude_characters="\n")), *[st.integers(0, INT32_MAX)] * 2)
def test_text_and_parts_are_one_to_one(name: str, subtopology: int, partition: int) -> None:
    task = TaskId(name, subtopology, partition)
    assert TaskId.parse(str(task)) == task
