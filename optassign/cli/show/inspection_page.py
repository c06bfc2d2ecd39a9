"""The report of `optassign inspect` as one HTML file: tables, and pictures inside it."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optassign.cli.errors import UsageError
from optassign.cli.show.inspection_tables import describe_assignor, list_costs, list_figures
from optassign.cli.show.pictures import save_figure
from optassign.inspecting.advice import format_seconds, list_advice
from optassign.inspecting.outlook import OPTASSIGN
from optassign.inspecting.report import GroupReport, Instance
from optassign_models.policy.display import MOST_BARS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["check_libraries", "make_page"]

_ACTIVE, _STANDBY, _WARMUP = "#1f5a94", "#8fbbe0", "#f2a65a"


def check_libraries() -> None:
    """UsageError where a library that draws the page is not installed."""
    try:
        import jinja2
        import matplotlib  # noqa: F401 - whether it is there
    except ImportError:
        raise UsageError("--html needs jinja2 and matplotlib: pip install 'optassign[inspect]'") from None
    del jinja2


def make_page(report: GroupReport) -> str:
    """The page. It loads nothing from elsewhere and runs no script."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(files("optassign.cli.show").joinpath("inspection.html").read_text(encoding="utf-8"))
    outlook = report.outlook
    slots = [] if outlook is None else sorted({number for choice in outlook.warmups for number in choice.seconds})
    return template.render(
        report=report,
        state=report.inspected.snapshot,
        assignor=describe_assignor(report.inspected),
        figures=list(list_figures(report)),
        costs=[] if outlook is None else list(list_costs(outlook)),
        slots=slots,
        warmups=[]
        if outlook is None
        else [
            (
                "optassign" if choice.assignor == OPTASSIGN else choice.assignor,
                [format_seconds(choice.seconds[number]) if number in choice.seconds else "" for number in slots],
                choice.best,
            )
            for choice in outlook.warmups
        ],
        advice=list(list_advice(report)),
        bars=_draw(lambda path: _draw_instances(report.instances[:MOST_BARS], path)),
        timeline=None if outlook is None else _draw_timeline(report),
    )


def _draw_timeline(report: GroupReport) -> str:
    from optassign.cli.show.pictures import draw_timelines

    assert report.outlook is not None
    return _draw(lambda path: draw_timelines(report.outlook.runs if report.outlook else (), path))


def _draw(draw: Callable[[str], None]) -> str:
    """A picture as SVG, without the head of a file of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "picture.svg")
        draw(str(path))
        text = path.read_text(encoding="utf-8")
    return text[text.index("<svg") :]


def _draw_instances(instances: Sequence[Instance], path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.0), layout="constrained")
    panel: Any = figure.subplots()
    places = range(len(instances))
    bottom = [0] * len(instances)
    for role, colour in (("active", _ACTIVE), ("standby", _STANDBY), ("warmup", _WARMUP)):
        counts = [getattr(each, role) for each in instances]
        if any(counts):
            panel.bar(places, counts, 0.8, bottom=bottom, color=colour, label="warm-up" if role == "warmup" else role)
        bottom = [low + count for low, count in zip(bottom, counts, strict=True)]
    panel.set_xticks(list(places), [each.name[:12] for each in instances], rotation=60 if len(instances) > 8 else 0, fontsize=8)
    panel.set_ylabel("tasks")
    panel.legend(loc="upper right", fontsize=8, frameon=False, ncols=3)
    save_figure(figure, path)
