"""Tests of TOML files: an error is one line with place, found and allowed, as for JSON."""

from pathlib import Path

import pytest

from optassign.formats.configs import Options
from optassign.formats.input_errors import InputError
from optassign.formats.toml_input import read_options, read_toml

ALLOWED = "a file with TOML in UTF-8"


def read(content: bytes, folder: Path) -> str:
    """Return the message of the error that a file with this content causes, without the path."""
    path = folder / "options.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_options(path)
    message = str(error.value)
    assert message.startswith(f"{path}: ")
    assert message.isprintable()
    return message.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"preset =", 'line 1: found "preset ="; allowed: TOML (invalid value)'),
        (b'\n\npreset = "lexicographic', 'line 3: found "preset = \\"lexicographic"; allowed: TOML ('),
        (
            b'preset: "lexicographic"',
            'line 1, column 7: found "preset: \\"lexicographic\\""; allowed: TOML (expected \'=\' after a key',
        ),
        (b'preset = "lexicographic"\npreset = "weighted"', 'line 2: found "preset = \\"weighted\\""; allowed: each name once'),
        (b"[weights]\n[weights]", 'line 2: found "[weights]"; allowed: each table once'),
        (b'preset = "\xff"', f"byte 10: found byte 0xff, which is not UTF-8; allowed: {ALLOWED}"),
        (b"x = " + b"[" * 10_000, f"found tables or lists nested too deeply; allowed: {ALLOWED}"),
        (b"x = " + b"9" * 5_000, "found a whole number of more than 4,300 digits; allowed: numbers of 64 bits"),
        (b'preset = "best"', 'preset: found "best"; allowed: "lexicographic", "weighted"'),
        (b'[options]\npreset = "best"', 'options.preset: found "best"; allowed: "lexicographic", "weighted"'),
        (b"[options]\n[options.weights]\ninstance = -1.0", "options.weights.instance: found -1.0; allowed: "),
        (b"preset = 1\nbalance_factor = 0", "(and 1 more)"),
        (b"options = 5", "options: found 5; allowed: the options at the top, or all of them in a table [options]"),
        (
            b'preset = "lexicographic"\n[options]\nbalance_factor = 2',
            "options: found it next to other fields; allowed: the options",
        ),
    ],
)
def test_errors_name_their_place(content: bytes, message: str, tmp_path: Path) -> None:
    found = read(content, tmp_path)
    assert message in found
    assert "; allowed: " in found


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, found in ((tmp_path / "none.toml", "no such file"), (tmp_path, "a folder"), (Path("a\0b"), "that it cannot be")):
        with pytest.raises(InputError) as error:
            read_toml(path)
        assert (error.value.place, error.value.allowed) == ("", ALLOWED)
        assert error.value.found.startswith(found)


def test_a_byte_order_mark_and_an_empty_file_are_no_error(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    path.write_bytes(b'\xef\xbb\xbfpreset = "weighted"\n')
    assert read_options(path) == Options(preset="weighted")
    for content in (b"", b"# nothing\n", b"[options]\n"):
        path.write_bytes(content)
        assert read_options(path) == Options()


def test_the_table_options_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "options.toml"
    read_as = []
    for content in (
        'goals = ["restore_work"]\n[weights]\ninstance = 2.0\n',
        '[options]\ngoals = ["restore_work"]\n[options.weights]\ninstance = 2.0\n',
        '[options]\ngoals = ["restore_work"]\nweights.instance = 2.0\n',
    ):
        path.write_text(content, encoding="utf-8")
        read_as.append(read_options(path))
    assert (
        read_as[0]
        == read_as[1]
        == read_as[2]
        == Options.model_validate({"goals": ["restore_work"], "weights": {"instance": 2.0}})
    )
