"""Tests of restore rates by hand: the effect of each measurement of a client."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from optassign_models.policy.constants import BELIEVED_FIRST, BELIEVED_MEASURED, BELIEVED_MORE, RATE_WINDOW_MS
from optassign_models.solving.rates import ClientRates, Evidence, Rate, _update_rate

UNKNOWN = Rate(0, 0, Evidence.NONE)
ONCE = Rate(10_000, 5_000, Evidence.ONCE)
LONG = Rate(40_000, 20_000, Evidence.STEADY)


def measure(offsets: int, *, is_start: bool = False, is_done: bool = False) -> Callable[[Rate], Rate]:
    """Return a function that updates a rate by a measurement over ten seconds; the later lags may be three seconds old."""
    return lambda known: _update_rate(known, offsets, 10_000, 3_000, is_start=is_start, is_done=is_done)


@pytest.mark.parametrize(
    ("known", "measured", "found"),
    [
        pytest.param(UNKNOWN, measure(7_000), Rate(7_000, 7_000, Evidence.ONCE), id="the faster of the rates that lags allow"),
        pytest.param(ONCE, measure(14_000), Rate(24_000, 12_000, Evidence.STEADY), id="alike: both count"),
        pytest.param(LONG, measure(14_000), Rate(50_000, 25_000, Evidence.STEADY), id="alike: 18 of 20 s are in the window"),
        pytest.param(ONCE, measure(70_000), Rate(75_000, 9_500, Evidence.ONCE), id="five times as fast: not steady"),
        pytest.param(LONG, measure(70_000), Rate(84_000, 14_000, Evidence.ONCE), id="the older count no more than the new"),
        pytest.param(ONCE, measure(10, is_start=True), ONCE, id="a slow start teaches nothing"),
        pytest.param(
            ONCE,
            measure(40_000, is_start=True),
            Rate(int(40_000 * BELIEVED_MORE), 10_000, Evidence.ONCE),
            id="even a start was faster",
        ),
        pytest.param(
            UNKNOWN,
            measure(9_000, is_done=True),
            Rate(int(9_000 * BELIEVED_FIRST), 10_000, Evidence.BOUND),
            id="done by then: a lower bound",
        ),
        pytest.param(
            ONCE,
            measure(9_000, is_done=True),
            Rate(int(10_000 * BELIEVED_MEASURED), 5_000, Evidence.ONCE),
            id="done, though not faster than known",
        ),
    ],
)
def test_a_measurement_changes_the_rate(known: Rate, measured: Callable[[Rate], Rate], found: Rate) -> None:
    assert measured(known) == found


def test_rates_agree_within_a_factor_of_one_and_a_half() -> None:
    assert [ONCE.agrees(offsets, 1_000) for offsets in (0, 1_300, 1_400, 3_000, 3_100)] == [False, False, True, True, False]


def tell(offsets: list[int], ms: list[int], **more: object) -> ClientRates:
    fields: dict[str, object] = {
        "taken_at": "2026-01-01T00:00:00Z",
        "elapsed_ms": 1,
        "looks": 0,
        "counted_ms": None,
        "counted_at": None,
        "interval_ms": 600_000,
        "by_interval": False,
    }
    arrays = np.array([offsets, ms, [int(Evidence.ONCE)] * len(ms)])
    return ClientRates(**{**fields, "offsets": arrays[0], "ms": arrays[1], "evidence": arrays[2], **more})


def test_a_client_without_a_rate_has_the_median_of_the_others() -> None:
    rates = tell([4_000, 1_000, 0, 9_000], [1_000, 1_000, 0, 1_000]).rates()
    assert rates is not None
    assert rates.tolist() == [4_000, 1_000, 4_000, 9_000]
    assert tell([0, 0], [0, 1_000]).rates() is None


def test_looks_without_a_rate_back_off_up_to_the_interval() -> None:
    assert [tell([0], [0], looks=looks).first_look_ms for looks in (0, 1, 5, 30)] == [2_000, 4_000, 64_000, 600_000]
    assert [tell([0], [0], looks=looks).is_timed for looks in (4, 5)] == [True, False]
    assert not tell([9], [9], by_interval=True).is_timed


def test_only_rates_measured_as_equal_for_the_whole_window_are_trusted() -> None:
    evidence = np.array([int(Evidence.ONCE), int(Evidence.STEADY), int(Evidence.STEADY)])
    found = tell([1, 1, 1], [RATE_WINDOW_MS, RATE_WINDOW_MS - 1, RATE_WINDOW_MS], evidence=evidence)
    assert found.is_trusted.tolist() == [False, False, True]
