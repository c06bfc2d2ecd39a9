"""What the site has beside the pages of docs/: the README as its home, the tables of the JSON formats, the API reference.

MkDocs calls these functions while it builds (`hooks` in mkdocs.yml). Nothing is written into docs/.
"""

import ast
import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
FROM_THE_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages at the top of the repository. MkDocs makes a folder's README its home."""
FORMATS = ("state", "assignment", "recording")
"""JSON Schemas of docs/schema whose objects are shown as tables, on the page of the same name."""
API = {
    "optassign": ("optassign", ()),
    "assignor": ("Assignors", ("optassign/assignor.py", "optassign/utilities.py")),
    "formats": ("Formats", ("optassign/formats",)),
    "goals": ("Goals", ("optassign/goals",)),
    "judging": ("Judging", ("optassign/judging",)),
    "generate": ("Generating", ("optassign/generate/snapshots.py",)),
    "simulation": ("Simulation", ("optassign/simulation",)),
}
"""Page → its title, and the modules or packages on it."""
NOT_FOR_USERS = {"__init__", "base", "input_errors", "json_head", "normalise", "explanation_text"}
"""Modules of these packages that only their neighbours need."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    made = {name: (ROOT / name).read_text(encoding="utf-8") for name in FROM_THE_TOP}
    made |= {f"api/{name}.md": api_page(name) for name in API}
    for target, text in made.items():
        files.append(File.generated(config, target, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the repository, turned into links of the site."""
    uri = page.file.src_uri
    markdown = _one_picture_per_scheme(markdown.replace("<details>", '<details markdown="1">'))
    if uri in FROM_THE_TOP:
        markdown = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", markdown)
        markdown = re.sub(r"\[([^\]]+)\]\(LICENSE\)", r"\1", markdown)
        # Paths say where a page is in the repository; in the site its name is enough.
        markdown = re.sub(r"\[docs/([\w/-]+?)(?:\.md|/)\]", r"[\1]", markdown)
    folder, _, name = uri.removesuffix(".md").rpartition("/")
    return f"{markdown}\n{show_format(name)}" if folder == "schema" else markdown


def _one_picture_per_scheme(markdown: str) -> str:
    """GitHub chooses among the sources of <picture> by its theme; here the site's own switch must choose."""
    picture = re.compile(
        r'<picture>\s*<source [^>]*srcset="(?:docs/)?([^"]+)">\s*<img alt="([^"]*)" src="(?:docs/)?([^"]+)"[^>]*>\s*</picture>'
    )
    return picture.sub(r"![\2](\3#only-light)\n![\2](\1#only-dark)", markdown)


def api_page(name: str) -> str:
    """A page that mkdocstrings fills from docstrings."""
    title, places = API[name]
    if name == "optassign":
        return _front_page()
    head = f"# {title}\n"
    if name == "formats":
        head += (
            "\nFields, with types, defaults and limits: [snapshot](../schema/state.md), [answer](../schema/assignment.md).\n"
        )
    return "\n".join([head, *(_module_section(file) for place in places for file in _modules(ROOT / place))])


def _module_section(file: Path) -> str:
    """What a module defines itself: names that it only passes on are described where they come from."""
    module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
    options = {
        "show_root_heading": False,
        "show_root_toc_entry": False,
        "members": _own_names(file),
    }
    return f"## `{module}`\n\n::: {module}\n    options: {json.dumps(options)}\n"


def _own_names(file: Path) -> list[str]:
    names = []
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_")]


def _front_page() -> str:
    """The names that `import optassign` offers, and where each is described."""
    text = (ROOT / "optassign" / "__init__.py").read_text(encoding="utf-8")
    where = dict(re.findall(r'^    "(\w+)": "(optassign\.[\w.]+)",$', text, re.MULTILINE))
    where = {name: _defining_module(name, module) for name, module in where.items()}
    rows = "\n".join(f"| [`optassign.{name}`][{module}.{name}] | `{module}` |" for name, module in sorted(where.items()))
    return (
        "# optassign\n\n::: optassign\n    options:\n      members: false\n      show_root_heading: false\n\n"
        f"| name | defined in |\n|---|---|\n{rows}\n"
    )


def _defining_module(name: str, module: str) -> str:
    """Where a name that a module passes on is defined."""
    text = (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    for source, names in re.findall(r"^from (optassign\.[\w.]+) import ([^(\n]+)$", text, re.MULTILINE):
        if name in re.findall(r"\w+", names):
            return _defining_module(name, source)
    return module


def _modules(place: Path) -> list[Path]:
    files = [place] if place.suffix == ".py" else sorted(place.glob("*.py"))
    return [file for file in files if file.stem not in NOT_FOR_USERS]


def show_format(name: str) -> str:
    """A JSON Schema's objects, each as a table: fields with type, default and meaning."""
    objects, elsewhere = _schema_objects(name), {}
    for other in FORMATS:
        if other != name and (other == "assignment" or name == "recording"):
            elsewhere |= dict.fromkeys(_schema_objects(other), f"{other}.md")
    parts = []
    for heading, node in objects.items():
        if heading not in elsewhere:
            parts.append(f"## {heading}\n\n{_plain(node.get('description', ''))}\n\n{_table(node)}\n")
    page = "\n".join(parts)
    return re.sub(r"\]\(#(\w+):(\w+)\)", lambda found: f"]({elsewhere.get(found[1], '')}#{found[2]})", page)


def _schema_objects(name: str) -> dict[str, dict[str, Any]]:
    """The objects of a schema by name, each before those that it is made of."""
    schema = json.loads((ROOT / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8"))
    found: dict[str, dict[str, Any]] = {}

    def visit(title: str, node: dict[str, Any]) -> None:
        if title not in found and "properties" in node:
            found[title] = node
            for inner in re.findall(r'"#/\$defs/(\w+)"', json.dumps(node["properties"])):
                visit(inner, schema["$defs"].get(inner, {}))

    visit(schema["title"], schema)
    return found


def _table(node: dict[str, Any]) -> str:
    rows = ["| field | type | default | |", "|---|---|---|---|"]
    for name, field in node["properties"].items():
        default = "required" if name in node.get("required", ()) else _default(field.get("default"))
        shown = name.replace("_", "_<wbr>")  # on a phone it may go on in the next line there
        rows.append(f"| <code>{shown}</code> | {_type(field)} | {default} | {_meaning(field)} |")
    return "\n".join(rows)


def _default(value: Any) -> str:
    if value is None or value in ({}, []):
        return "" if value is None else "empty"
    return "its fields' defaults" if isinstance(value, dict) else f"`{json.dumps(value, ensure_ascii=False)}`"


def _options(field: dict[str, Any]) -> list[dict[str, Any]]:
    return [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]


def _type(field: dict[str, Any]) -> str:
    return " or ".join(dict.fromkeys(_type_of_one(option) for option in _options(field)))


def _type_of_one(node: dict[str, Any]) -> str:
    if "anyOf" in node:
        return _type(node)
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name}:{name.lower()})" if name != "JsonValue" else "anything"
    if "enum" in node:
        return ", ".join(f"`{value}`" for value in node["enum"])
    if "const" in node:
        return f"`{node['const']}`"
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}" if "items" in node else "list"
    if node.get("type") == "object":
        inner = node.get("additionalProperties")
        return f"name → {_type(inner)}" if isinstance(inner, dict) else "object"
    return f"{node.get('type', 'anything')}{_limits(node)}"


def _limits(node: dict[str, Any]) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if node.get("exclusiveMinimum") is not None:
        return f" > {node['exclusiveMinimum']}" + (f", ≤ {_number(high)}" if high is not None else "")
    if low is not None and high is not None:
        return f", {_number(low)} to {_number(high)}"
    return f" ≥ {_number(low)}" if low is not None else ""


def _number(value: float) -> str:
    powers = {2**63 - 1: "2⁶³ − 1", 2**31 - 1: "2³¹ − 1"}
    return powers.get(int(value), f"{value:g}").replace("-", "−", 1)


def _meaning(field: dict[str, Any]) -> str:
    """The field's own description, or that of what it lists."""
    return _plain(field.get("description") or next((o["description"] for o in _options(field) if "description" in o), ""))


def _plain(text: str) -> str:
    """Text for a cell of a table; a cited page becomes a link."""

    def link(found: re.Match[str]) -> str:
        page, heading = found.groups()
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        return f"[{heading}](../{page}.md#{anchor})"

    text = re.sub(r'docs/([\w/-]+)\.md, "([^"]+)"', link, text)
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
