"""Tests of `drain --wait`: it reports the remaining wait, and ends when the client may stop."""

from argparse import Namespace
from typing import Any

import pytest

from optassign.cli.commands.service.requests import await_drain

_DUE = "2026-01-01T00:05:00.000Z"


def show(state: str | None, due: str | None = _DUE, cancelled_by: str | None = None) -> dict[str, Any]:
    drains = [] if state is None else [{"client": "box-7", "state": state}]
    effect = "only at the next rebalance, and none is due" if due is None else f"at the next rebalance, at the latest at {due}"
    history = [{"client": "box-7", "what": "drain", "by": "ann"}]
    if cancelled_by is not None:
        history.insert(0, {"client": "box-7", "what": "undrain", "by": cancelled_by})
    return {"drains": drains, "takes_effect": effect, "history": [{"client": None, "what": "paused", "by": "bob"}, *history]}


def wait(shown: list[dict[str, Any]], seconds: float = 3_600) -> tuple[bool, list[str], list[float]]:
    told: list[str] = []
    slept: list[float] = []
    answers = iter([*shown, *[shown[-1]] * 10_000])
    _, may_stop = await_drain(Namespace(client="box-7", wait=seconds), lambda: next(answers), told.append, slept.append)
    return may_stop, told, slept


@pytest.mark.parametrize(("last", "may_stop"), [("may_stop", True), (None, True), ("stays", False)])
def test_it_waits_until_the_client_may_stop(last: str | None, may_stop: bool) -> None:
    found, told, slept = wait([show("waiting"), show("waiting"), show("draining"), show(last)])
    assert found == may_stop
    assert len(slept) == 3
    effect = f"at the next rebalance, at the latest at {_DUE}"
    assert told == [f"the drain takes effect {effect}", f"tasks move as other clients catch up, the next ones {effect}"]


def test_a_client_whose_drain_was_cancelled_may_not_stop() -> None:
    found, told, slept = wait([show("draining"), show(None, cancelled_by="bob")])
    assert not found
    assert told[-1] == "bob cancelled the drain: box-7 may not stop"
    assert len(slept) == 1


def test_it_reports_that_no_rebalance_is_due_and_ends() -> None:
    found, told, slept = wait([show("waiting", due=None)], seconds=60)
    assert not found
    assert told[0] == "the drain takes effect only at the next rebalance, and none is due"
    assert told[-1] == "box-7 may not stop yet: 60 s are over"
    assert sum(slept) == 60
