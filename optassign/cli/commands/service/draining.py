"""Wait until a draining client may stop, and say what it waits for."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

from optassign_models.policy.commands import DRAIN_EVERY_S, DRAIN_S

__all__ = ["add_wait", "await_drain", "describe_next"]


def add_wait(parser: ArgumentParser) -> None:
    """Add --wait; `await_drain` uses it."""
    parser.add_argument(
        "--wait",
        nargs="?",
        type=float,
        const=DRAIN_S,
        metavar="SECONDS",
        help=f"wait until the client may stop, for so long at most (without a number: {DRAIN_S:g}); exit code 1 if it may not",
    )


def await_drain(
    arguments: Namespace, ask: Callable[[], Any], tell: Callable[[str], None], sleep: Callable[[float], None]
) -> tuple[Any, bool]:
    """Return the service's last state of the application, and whether the client may stop.

    Args:
        arguments: with `client` and `wait`.
        ask: returns what GET /v1/applications/APPLICATION tells.
        tell: takes a line whenever the drain waits for a new thing.
        sleep: waits that many seconds.
    """
    waited, said = 0.0, ""
    while True:
        found = ask()
        state = next((row["state"] for row in found["drains"] if row["client"] == arguments.client), "over")
        if state in ("may_stop", "over", "stays"):
            return found, state != "stays"
        line = _describe(state, found)
        if line != said:
            tell(line)
            said = line
        if waited >= arguments.wait:
            tell(f"{arguments.client} may not stop yet: {waited:g} s are over")
            return found, False
        sleep(DRAIN_EVERY_S)
        waited += DRAIN_EVERY_S


def _describe(state: str, found: Any) -> str:
    """Describe the next step of the drain."""
    what = "the drain counts from the next rebalance on" if state == "waiting" else "its tasks move as other clients catch up"
    return f"{what}; {describe_next(found)}"


def describe_next(found: Any) -> str:
    """Say which rebalance is awaited. found: what GET /v1/applications/APPLICATION tells."""
    due, why = found["next_rebalance"], found["waits_for"]
    if due is None:
        return "none is due: start, stop or restart an instance to have one"
    return f"the follow-up is due at {due} ({why}); an instance that joins, leaves or restarts has one sooner"
