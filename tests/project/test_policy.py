"""Tests that tunables are in policy.toml, that the constants made from it are current, and that each is used."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from optassign_benchmarks.policy import PolicyError, list_outputs, read_policy
from optassign_benchmarks.studies import STUDIES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "models" / "optassign_models" / "policy"
TEXT = (FOLDER / "policy.toml").read_text(encoding="utf-8")


def test_a_list_is_a_tuple_and_a_class_goes_to_its_module() -> None:
    text = f'{SECTION}java_module = "broker"\n[c]\nabout = "C."\nunit = "s"\nstudy = "none"\n[c.d]\nvalue = [1, 2.5]\n'
    text = text.replace('java_module = "broker"\n', "").replace("[a.b]", 'java_module = "broker"\n[a.b]\nused_by = "java"')
    made = list_outputs(text + 'what = "W."\nwhy = "Y."\nused_by = "python"\n', Path("python"), Path("java"))
    folder = Path("java/broker/src/main/java/io/github/optassign/policy")
    assert set(made) == {Path("python/constants.py"), folder / "A.java"}
    module = made[Path("python/constants.py")]
    assert "\nD = (1, 2.5)\n" in module
    assert "\nB = 1\n" not in module  # only Java uses it


def test_constants_are_fresh() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "optassign_benchmarks.policy", "--check"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout) == (0, "")


def test_another_value_reaches_both_languages() -> None:
    text = re.sub(r"(\[warmups\.patience\]\nvalue = )3", r"\g<1>4", TEXT)
    made = {path.name: content for path, content in list_outputs(text, Path("python"), Path("java")).items()}
    assert "\nPATIENCE = 4\n" in made["constants.py"]
    assert "public static final int PATIENCE = 4;" in made["WarmupPolicy.java"]


def test_evidence_is_a_study_or_a_file() -> None:
    assert [
        f"{section.name}.{tunable.name}: {tunable.study}"
        for section in read_policy(TEXT)
        for tunable in section.tunables
        if tunable.study not in ("none", *STUDIES) and not (ROOT / tunable.study).is_file()
    ] == []


def test_every_tunable_is_used() -> None:
    """Each constant is used in a source of its language, outside of the generated ones."""
    python = _find_words([*(ROOT / "optassign").rglob("*.py"), *(ROOT / "models").rglob("*.py")], r"\b[A-Z][A-Z0-9_]+\b")
    java = _find_words(list((ROOT / "java").glob("*/src/main/**/*.java")), r"\b[A-Z]\w+Policy\.[A-Z0-9_]+\b")
    unused = []
    for section in read_policy(TEXT):
        for tunable in section.tunables:
            name = tunable.name.upper()
            for language in tunable.values:
                if not (name in python if language == "python" else f"{section.java}.{name}" in java):
                    unused.append(f"{section.name}.{tunable.name} in {language}")
    assert unused == []


def _find_words(files: list[Path], pattern: str) -> set[str]:
    sources = [file.read_text(encoding="utf-8") for file in files if file.parent.name != FOLDER.name]
    return {word for source in sources for word in re.findall(pattern, source)}


SECTION = '[a]\nabout = "A."\nunit = "ms"\nstudy = "none"\njava = "A"\n[a.b]\nvalue = 1\nwhat = "W."\nwhy = "Y."\n'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value = 1", "value = 1.5", "a.b.value: found 1.5; allowed: whole milliseconds"),
        ("value = 1", "value = 0", "a.b.value: found 0; allowed: a number above 0"),
        ("value = 1", "value = true", "a.b.value: found True; allowed: a number above 0"),
        ("value = 1", 'value = "soon"', "a.b.value: found 'soon'; allowed: a number above 0"),
        ("value = 1", "value = inf", "a.b.value: found inf; allowed: a number above 0"),
        ("value = 1", "value = {python = 1}", "a.b.value: found one for python; allowed: one for python and java each"),
        ("value = 1", "value = [1]", "a.b.value: found a list; allowed: one number, as Java uses it"),
        ("value = 1", 'value = [1, -1]\nused_by = "python"', "a.b.value: found -1; allowed: a number above 0"),
        ("value = 1", 'value = 2\nunit = "share"', "a.b.value: found 2; allowed: a share, at most 1"),
        ("value = 1", 'value = 1\nunit = "miles"', "a.b.unit: found 'miles'; allowed: ms, s, share"),
        ("value = 1", 'value = 1\nused_by = "rust"', "a.b.used_by: found 'rust'; allowed: python, java, or nothing for both"),
        ("value = 1", "value = 1\ncolour = 1", "a.b.colour: found it; allowed: value, unit, study, what, why, used_by"),
        ('why = "Y."', 'why = ""', "a.b.why: found ''; allowed: a text"),
        ('why = "Y."', "", "a.b: found no why; allowed: a table with value, unit, study, what, why"),
        ('java = "A"\n', "", "a.java: found nothing; allowed: the name of a class"),
        ('about = "A."\n', "", "a: found no about; allowed: a table with about"),
        ("[a]", "b = 1\n[a]", "b: found 1; allowed: a table"),
        (
            "[a]",
            '[d]\nabout = "D."\n[d.b]\nvalue = 1\nunit = "s"\nwhat = "W."\nwhy = "Y."\nstudy = "none"\nused_by = "python"\n[a]',
            "a.b: found it in d too",
        ),
        ("[a]", "[a", "found no TOML"),
    ],
)
def test_a_fault_is_named_with_its_place(old: str, new: str, message: str) -> None:
    assert read_policy(SECTION)
    with pytest.raises(PolicyError, match=re.escape(message)):
        read_policy(SECTION.replace(old, new))
