"""Tests of figures per event: windows from one event to the next, and their measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run_here

from optassign.simulation.timed.effects import describe_event, measure_effects
from optassign.simulation.timed.scenario import Scenario, ScenarioEvent, find_scenario
from optassign.simulation.timed.simulator import simulate


def make_scenario(events: list[dict[str, Any]], **more: Any) -> Scenario:
    given = {
        "name": "events",
        "duration_s": "10min",
        "configs": {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 60_000},
        "subtopologies": [{"partitions": 8, "state": 10_000, "input_per_s": 10}],
        "clients": [{"count": 3}, {"name": "new", "joins": True}],
        "events": events,
    }
    return Scenario.model_validate({**given, **more})


def test_windows_add_up_to_the_run() -> None:
    events: list[dict[str, Any]] = [
        {"at": "60s", "do": "crash", "clients": ["c3"], "down_s": "2min"},
        {"at": 400, "do": "join", "clients": ["new1"]},
    ]
    played = simulate(make_scenario(events), "cp-sat")
    crash, join = measure_effects(played)
    assert (crash.at_s, crash.event, join.at_s, join.event) == (60.0, "crash c3", 400.0, "join new1")
    assert crash.down_task_s + join.down_task_s == pytest.approx(played.measures.down_task_s, abs=0.01)
    assert crash.down_task_s > 45 * 2  # the session time-out of at least two tasks
    assert crash.moves + join.moves == played.measures.moves
    assert crash.rebalances + join.rebalances == played.measures.rebalances
    assert (crash.unbalanced_s or 0) + (join.unbalanced_s or 0) == pytest.approx(played.measures.unbalanced_s, abs=0.01)
    assert join.stable_after_s == pytest.approx(played.measures.last_change_at - 400, abs=1e-3)


def test_an_event_during_restoring_is_never_stable() -> None:
    slow = [{"count": 2, "restore_per_s": 10.0}, {"name": "new", "joins": True, "restore_per_s": 10.0}]
    events = [{"at": 10, "do": "join", "clients": ["new1"]}, {"at": 100, "do": "restart", "clients": ["c1"]}]
    join, _ = measure_effects(simulate(make_scenario(events, clients=slow), "cp-sat"))
    assert (join.unbalanced_s, join.stable_after_s) == (None, None)


def test_a_cold_start_is_an_event() -> None:
    (start,) = measure_effects(simulate(make_scenario([], warm_start=False), "cp-sat"))
    assert (start.event, start.at_s) == ("start", 0.0)
    assert start.rebalances > 0


def test_events_are_named_shortly() -> None:
    rolling = ScenarioEvent(at=0, do="rolling-restart", clients=("a", "b", "c", "d"))
    assert describe_event(rolling) == "rolling-restart a, b and 2 more"
    assert describe_event(ScenarioEvent(at=0, do="zone-fails", zone="z")) == "zone-fails z"


def test_the_command_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "simulate", "rolling-restart", "--assignors", "greedy,high-availability")
    assert code == 0, err
    assert "2 min rolling-restart c1," in out
    assert max(map(len, out.partition("after event")[2].splitlines())) <= 80
    code, out, _ = run_here(capsys, "simulate", "crash", "--assignors", "greedy", "--json")
    (crash,) = json.loads(out)["assignors"]["greedy"]["events"]
    assert (crash["event"], crash["at_s"]) == ("crash c3", 60.0)


def test_an_invalid_duration_in_a_scenario_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('name = "x"\nduration_s = "soon"\nsubtopologies = [{ partitions = 1 }]\nclients = [{ count = 1 }]\n')
    code, _, err = run_here(capsys, "simulate", str(path))
    assert code == 2
    assert 'duration_s: found "soon"; allowed: seconds, or a duration such as 90s, 15min or 2h' in err


def test_equal_curves_hide_no_other() -> None:
    pytest.importorskip("matplotlib")
    from optassign.plots import plot_simulations

    scenario = find_scenario("crash")
    figure = plot_simulations([simulate(scenario, name) for name in ("cp-sat", "greedy", "high-availability")])
    steps = [line for line in figure.axes[0].get_lines() if not str(line.get_label()).startswith("_")]
    assert [line.get_label() for line in steps][-1] == "cp-sat"
    widths = [line.get_linewidth() for line in steps]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3
    names = {text.get_text() for text in figure.axes[0].texts}
    assert "crash" in names


def test_a_picture_leaves_tasks_out_until_they_exist() -> None:
    pytest.importorskip("matplotlib")
    from optassign.plots import plot_simulations

    given = {
        "name": "made",
        "duration_s": 1_200,
        "clients": [{"count": 2}],
        "subtopologies": [{"partitions": 1}, {"partitions": 1, "joins": True}],
        "events": [{"at": 600, "do": "add-subtopologies", "subtopologies": [1]}],
    }
    figure = plot_simulations([simulate(Scenario.model_validate(given), "greedy")])
    bars = [path.get_extents() for each in figure.axes[-1].collections for path in each.get_paths()]
    assert min(bar.x0 for bar in bars if bar.y0 < 1) == 0
    assert min(bar.x0 for bar in bars if bar.y0 > 1) == pytest.approx(10)
