"""`optassign plan-capacity`: the fewest instances, standbys and warm-ups that keep a target over a scenario."""

import argparse
import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import TYPE_CHECKING

from optassign.cli.arguments import (
    accept_durations,
    accept_integers,
    accept_numbers,
    add_output,
    add_register,
    check_registered_are_chosen,
    register_listed_assignors,
)
from optassign.cli.common import blame_assignor, check_assignor, write_result
from optassign.cli.output import DONE, FAILED, UsageError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from optassign.simulation.timed.capacity import CapacityPlan

__all__ = ["ABOUT", "EXAMPLE", "add_arguments", "run"]

ABOUT = "Find the fewest instances that keep a target over a scenario"
EXAMPLE = (
    "plan-capacity zone-lost --downtime 1min --zone-loss --standbys 0-2\n"
    "plan-capacity my-application.toml --load 70% --instances 4-40"
)
_LIMITS = {
    "target.balance_s": "--balance",
    "target.load": "--load",
    "target.state": "--disk",
    "target.down_s": "--downtime",
    "target.zone_loss": "--zone-loss",
    "target": "target",
    "ranges.instances": "--instances",
    "ranges.standbys": "--standbys",
    "ranges.warmups": "--warmups",
}
"""Arguments of the Python function → options."""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `plan-capacity`."""
    parser.add_argument(
        "scenario", metavar="SCENARIO", help="a scenario in TOML, or the name of one in optassign, such as zone-lost"
    )
    parser.add_argument(
        "--balance",
        type=accept_durations(),
        metavar="TIME",
        help="have active tasks out of balance, or no instance running, for no longer than this after an event",
    )
    parser.add_argument(
        "--load",
        type=_accept_share,
        metavar="SHARE",
        help="load no instance with more than this share of its threads' rate: 70%%, or 0.7",
    )
    parser.add_argument(
        "--disk",
        type=accept_numbers("offsets"),
        metavar="OFFSETS",
        help="keep no more state than this on any instance, with what changelogs grow by",
    )
    parser.add_argument("--downtime", type=accept_durations(), metavar="TIME", help="stop no task for longer than this")
    parser.add_argument(
        "--zone-loss",
        action="store_true",
        help="keep all limits, and a caught-up copy of each logged task, when any one zone fails",
    )
    default = "default: the scenario's own number"
    parser.add_argument(
        "--instances",
        type=_accept_range,
        metavar="A-B",
        help="try from A to B instances (default: from the fewest that the scenario allows to four times its own number)",
    )
    parser.add_argument("--standbys", type=_accept_range, metavar="A-B", help=f"try from A to B standbys ({default})")
    parser.add_argument("--warmups", type=_accept_range, metavar="A-B", help=f"try from A to B warm-ups ({default})")
    parser.add_argument("--assignor", default="cp-sat", metavar="NAME", help="simulate this assignor (default: cp-sat)")
    add_register(parser)
    parser.add_argument(
        "--seed", type=accept_integers(0, 2**31), metavar="N", help="use this seed in place of the scenario's own"
    )
    parser.add_argument(
        "--replications", type=accept_integers(1), default=1, metavar="N", help="keep the target under N seeds (default: 1)"
    )
    add_output(parser)


def run(arguments: Namespace) -> int:
    """Write the plan. FAILED if no capacity keeps the target."""
    from optassign.cli.show.progress import ProgressLine
    from optassign.errors import ArgumentError
    from optassign.simulation.timed.capacity import CapacityRanges, CapacityTarget, plan_capacity
    from optassign.simulation.timed.scenario import read_scenario

    check_registered_are_chosen(register_listed_assignors(arguments), [arguments.assignor], "--assignor")
    check_assignor(arguments.assignor)
    scenario = read_scenario(arguments.scenario)
    if arguments.seed is not None:
        scenario = scenario.model_copy(update={"seed": arguments.seed})
    target = CapacityTarget(
        balance_s=arguments.balance,
        load=arguments.load,
        state=arguments.disk,
        down_s=arguments.downtime,
        zone_loss=arguments.zone_loss,
    )
    ranges = CapacityRanges(instances=arguments.instances, standbys=arguments.standbys, warmups=arguments.warmups)
    with ProgressLine(scenario.name) as progress, blame_assignor(arguments.assignor):

        def show(text: str) -> None:
            progress.doing = text

        try:
            plan = plan_capacity(
                scenario,
                target,
                ranges=ranges,
                assignor=arguments.assignor,
                replications=arguments.replications,
                on_run=show,
            )
        except ArgumentError as error:
            allowed = error.allowed if error.where != "target" else ", ".join(list(_LIMITS.values())[:5])
            raise UsageError(f"{_LIMITS.get(error.where, error.where)}: found {error.found}; allowed: {allowed}") from None
    _write_plan(arguments, plan)
    return DONE if plan.chosen is not None else FAILED


def _write_plan(arguments: Namespace, plan: "CapacityPlan") -> None:
    from dataclasses import asdict

    from optassign.cli.output import format_json

    def make_tables(width: int) -> "Iterable[RenderableType]":
        from optassign.cli.show.capacity_tables import render_plan

        return render_plan(plan, width)

    write_result(arguments, lambda: format_json(asdict(plan)), make_tables)


def _accept_share(text: str) -> float:
    """Return a share, 0 to 1, from a number or a percentage. argparse.ArgumentTypeError for any other text."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a share up to 1, such as 70% or 0.7")
    return value


def _accept_range(text: str) -> tuple[int, int]:
    """Return the bounds of a range A-B; A alone is both bounds. argparse.ArgumentTypeError for any other text."""
    low, dash, high = text.partition("-")
    if not low.isdigit() or (dash and not high.isdigit()):
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a number, or a range such as 2-40")
    return int(low), int(high or low)
