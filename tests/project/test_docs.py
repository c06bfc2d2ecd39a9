"""Tests that links between pages, and citations of pages in code, schemas, Java and pages, lead somewhere.

A citation is the page's path from the top of the repository, and for one section its heading in quotes:
`docs/reference/rules.md, "Balanced"`. A rule's number stands for its whole heading: `docs/reference/rules.md, "R3"`.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "java").glob("**/*.md")])
SOURCES = sorted(
    [
        *(file for folder in ("optassign", "models", "benchmarks", "tests") for file in (ROOT / folder).rglob("*.py")),
        *(ROOT / "java").rglob("src/**/*.java"),
        *(ROOT / "docs" / "schema").glob("*.json"),
        *(ROOT / "docs" / "site").glob("*.py"),
        *(ROOT / name for name in ("Makefile", "pyproject.toml")),
    ]
)
_FENCED = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)(?: \"[^\"]*\")?\)|<img[^>]* src=\"([^\"]+)\"|srcset=\"([^\"]+)\"")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_PAGE = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)*[\w-]+\.md)\b(?:,[\s#*/]*\\?\"([^\"\\]+)\\?\")?")
_PATH = re.compile(r"`((?:optassign|models|benchmarks|tests|docs|java)/[\w./-]*)`")


@cache
def headings(page: Path) -> tuple[str, ...]:
    """Return the headings of a page as readers see them: without code marks, and with the text of links only."""
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    return tuple(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", found).replace("`", "") for found in _HEADING.findall(text))


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings."""
    seen: dict[str, int] = {}
    found = set()
    for heading in headings(page):
        kept = "".join(c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LN")
        slug = kept.replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


def dead_links(page: Path) -> Iterator[str]:
    """Yield the links and pictures of a page whose file or anchor does not exist."""
    for found in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        target = next(filter(None, found))
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            yield target


def dead_citations(text: str) -> Iterator[str]:
    """Yield the citations in a text whose page or heading does not exist."""
    for found in _PAGE.finditer(text):
        page, heading = found[1], re.sub(r"\s*\n[\s#*]*", " ", found[2] or "")  # comments break lines
        before, after = text[: found.start()][-1:], text[found.end() :][:1]
        if "/" not in page and not heading and before in "\"'" and after in "\"'":
            continue  # a file name in code, not a citation
        file = ROOT / page
        if not file.is_file():
            yield f"{page}: no such page"
        elif heading and not any(f"{known} ".startswith(f"{heading} ") for known in headings(file)):
            yield f"{page}: no such heading: {heading}"


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    assert list(dead_links(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_paths_in_pages_exist(page: Path) -> None:
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    made = re.findall(r"^\*\*`([^`]+)`\*\*, new", text, re.MULTILINE)  # files that the reader of a walk creates
    paths = [path for path in _PATH.findall(text) if path not in made]
    built = [path for path in paths if "target" in path.split("/")]
    assert [path for path in paths if path not in built and not (ROOT / path).exists()] == []


def test_every_alert_has_its_section_in_the_runbook() -> None:
    rules = (ROOT / "docs" / "monitoring" / "alerts.yml").read_text(encoding="utf-8")
    alerts, urls = re.findall(r"alert: (\w+)", rules), re.findall(r"runbook_url: (\S+)", rules)
    runbook = "docs/how-to/runbook.md"
    assert urls == [f"{runbook}#{alert.lower()}" for alert in alerts]
    assert {alert.lower() for alert in alerts} <= anchors(ROOT / runbook)


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = set(re.findall(r"^ +- .*?: ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")}
    assert pages - menu == set()


def test_citations_lead_somewhere() -> None:
    texts = {source: source.read_text(encoding="utf-8") for source in SOURCES if source != Path(__file__).resolve()}
    dead = [f"{relative(source)}: {found}" for source, text in texts.items() for found in dead_citations(text)]
    assert dead == []


def test_citations_in_pages_lead_somewhere() -> None:
    cited = re.compile(r"(?<![\w/(.-])(docs/[\w/-]+\.md, \"[^\"]+\")")
    dead = [
        f"{relative(page)}: {found}"
        for page in PAGES
        for citation in cited.findall(page.read_text(encoding="utf-8"))
        for found in dead_citations(citation)
    ]
    assert dead == []


def test_schemas_ship_their_citations() -> None:
    # Users of a schema read descriptions; the raw JSON, with escaped quotes, is searched above.
    schema = json.loads((ROOT / "docs" / "schema" / "state.json").read_text(encoding="utf-8"))
    assert 'docs/reference/rules.md, "Balanced"' in schema["$defs"]["Options"]["description"]


@pytest.mark.parametrize(
    "text",
    [
        "see formats.md",
        "(rules-and-goals.md)",
        'docs/reference/rules.md, "Unheard of"',
        'docs/reference/rules.md, "R99"',
        'docs/reference/rules.md, "Bal"',
        '# docs/reference/rules.md,\n# "Unheard of"',
        '"description": "(docs/reference/rules.md, \\"Unheard of\\")"',
        'Path("docs/no-such-page.md")',
        "docs/explanation/decisions/0001.md",
    ],
)
def test_a_dead_citation_is_found(text: str) -> None:
    assert list(dead_citations(text))


@pytest.mark.parametrize(
    "text",
    [
        'docs/reference/rules.md, "R3"',
        'docs/reference/rules.md, "R3 Actives on the most caught up"',
        'docs/reference/rules.md,\n    "The target"',
        ' * docs/reference/rules.md,\n * "The target"',
        ' * docs/reference/rules.md, "The\n * target"',
        'open("comparison.md")',
        "README.md",
    ],
)
def test_a_citation_is_told_from_a_file_name(text: str) -> None:
    assert not list(dead_citations(text))


@pytest.mark.parametrize("link", ["no-such.md", "page.md#no-such", "#no-such", "page.md#fenced"])
def test_a_dead_link_is_found(tmp_path: Path, link: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"# A page, “quoted” × 2\n\n[here](#a-page-quoted--2)\n\n```\n# fenced\n```\n\n[there]({link})\n", encoding="utf-8"
    )
    assert list(dead_links(page)) == [link]
