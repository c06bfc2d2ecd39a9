"""MkDocs hooks that add pages to those of docs/: the README as home, the API reference, and a page for each study.

MkDocs calls these functions while it builds (`hooks` in mkdocs.yml). Nothing is written into docs/.
"""

import ast
import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from optassign_benchmarks.dependencies import list_changed
from optassign_benchmarks.results import RENEWALS, list_older_than, read_renewals, read_studies

ROOT = Path(__file__).resolve().parents[2]
FROM_THE_TOP = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
"""Pages at the top of the repository. MkDocs makes a folder's README its home."""
_TIMED = ("scenario", "simulator", "measures", "effects", "capacity", "scaling", "replications")
API = {
    "optassign": ("optassign", ()),
    "assignor": ("Assignors", ("optassign/assignor.py", "optassign/utilities.py")),
    "formats": ("Formats", ("optassign/formats",)),
    "goals": ("Goals", ("optassign/goals",)),
    "judging": ("Judging", ("optassign/judging",)),
    "errors": ("Errors", ("optassign/errors.py", "optassign/formats/input_errors.py")),
    "analysis": ("Analysis and plots", ("optassign/library.py", "optassign/analysis", "optassign/plots.py")),
    "generate": ("Generating", ("optassign/generating/snapshots.py", "optassign/generating/dealing.py")),
    "simulation": (
        "Simulation",
        ("optassign/simulation", *(f"optassign/simulation/timed/{name}.py" for name in _TIMED)),
    ),
}
"""Page → its title, and the modules or packages on it."""
NOT_FOR_USERS = {"__init__", "base", "input_errors", "json_head", "normalise", "explanation_text"}
"""Modules without a section in the API reference, since only other modules of their package use them."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the studies at the end of the menu's section on evaluation."""
    studies = read_studies(ROOT / "docs" / "data")
    tables = [{study.title: f"data/{name}.md"} for name, study in sorted(studies.items(), key=lambda item: item[1].title)]
    for section in config.nav or []:
        if "Evaluation" in section:
            section["Evaluation"].append({"Tables": tables})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in docs/."""
    made = {name: (ROOT / name).read_text(encoding="utf-8") for name in FROM_THE_TOP}
    made |= {f"api/{name}.md": api_page(name) for name in API}
    renewals = read_renewals(ROOT / RENEWALS)
    for name, study in read_studies(ROOT / "docs" / "data").items():
        made[f"data/{name}.md"] = study.to_page(list_older_than(name, study, renewals), list_changed(name, study.sources))
    for target, text in made.items():
        files.append(File.generated(config, target, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the page with the repository's links turned into links of the site."""
    uri = page.file.src_uri
    # A link leads to a study's data in the repository, and to its generated page in the site.
    folder = "" if uri.startswith("data/") else r"[\w./-]*data/"
    markdown = re.sub(rf"\]\(({folder}[\w-]+\.)json\)", r"](\1md)", markdown)
    markdown = _one_picture_per_scheme(markdown.replace("<details>", '<details markdown="1">'))
    # Pages of the top are next to the folders of docs/ in the site, and one folder further up in the repository.
    markdown = re.sub(rf"\]\(((?:\.\./)*)\.\./({'|'.join(FROM_THE_TOP)})", r"](\1\2", markdown)
    if uri in FROM_THE_TOP:
        markdown = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", markdown)
        markdown = re.sub(r"\[([^\]]+)\]\((?:LICENSE|CITATION\.cff)\)", r"\1", markdown)
        # A path shows the page's place in the repository; in the site its name is enough.
        markdown = re.sub(r"\[docs/([\w/-]+?)(?:\.md|/)\]", r"[\1]", markdown)
    return markdown


def _one_picture_per_scheme(markdown: str) -> str:
    """Return the page with pictures that follow the site's own switch; GitHub chooses sources of <picture> by its theme."""
    picture = re.compile(
        r'<picture>\s*<source [^>]*srcset="(?:docs/)?([^"]+)">\s*<img alt="([^"]*)" src="(?:docs/)?([^"]+)"[^>]*>\s*</picture>'
    )
    return picture.sub(r"![\2](\3#only-light)\n![\2](\1#only-dark)", markdown)


def api_page(name: str) -> str:
    """Return the Markdown of a page of `API`, which mkdocstrings fills from docstrings."""
    title, places = API[name]
    if name == "optassign":
        return _front_page()
    head = f"# {title}\n"
    if name == "formats":
        head += (
            "\nFields, with types, defaults and limits: [snapshot](../schema/state.md), [options](../schema/options.md),\n"
            "[answer](../schema/assignment.md).\n"
        )
    return "\n".join([head, *(_module_section(file) for place in places for file in _modules(ROOT / place))])


def _module_section(file: Path) -> str:
    """Return the section of a module with its own names; re-exported names are described in their own module."""
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
    """Return the page of `import optassign`: its names, and the module that describes each."""
    text = (ROOT / "optassign" / "__init__.py").read_text(encoding="utf-8")
    where = dict(re.findall(r'^    "(\w+)": "(optassign\.[\w.]+)",$', text, re.MULTILINE))
    where = {name: _defining_module(name, module) for name, module in where.items()}
    names = sorted(where, key=lambda name: (not name.islower(), name))  # functions first
    rows = "\n".join(f"| [`optassign.{name}`][{where[name]}.{name}] | `{where[name]}` |" for name in names)
    return (
        "# optassign\n\n::: optassign\n    options:\n      members: false\n      show_root_heading: false\n\n"
        f"| name | defined in |\n|---|---|\n{rows}\n"
    )


def _defining_module(name: str, module: str) -> str:
    """Return the module that defines a re-exported name."""
    text = (ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8")
    for source, names in re.findall(r"^from (optassign\.[\w.]+) import ([^(\n]+)$", text, re.MULTILINE):
        if name in re.findall(r"\w+", names):
            return _defining_module(name, source)
    return module


def _modules(place: Path) -> list[Path]:
    if place.suffix == ".py":
        return [place]
    return [file for file in sorted(place.glob("*.py")) if file.stem not in NOT_FOR_USERS]
