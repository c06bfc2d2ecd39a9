"""Tests of the scenario behind the timeline of a what-if question."""

from optassign.formats.configs import Limit
from optassign.generating import generate
from optassign.service.views.timeline import _make_scenario, _rename_options
from optassign.service.views.what_if import read_changes


def test_the_way_there_has_the_drains_and_limits_of_the_group() -> None:
    """The simulated clients and tasks have other names."""
    state = generate("steady", 12, 3, seed=1)
    names = [client.process_id for client in state.clients]
    pin = Limit(kind="pin", tasks=(state.tasks[0].id, "9_9"), clients=(names[1],))
    gone = Limit(kind="pin", tasks=("9_9",), clients=(names[1],))
    options = state.options.model_copy(
        update={"drain": (names[2],), "limits": (pin, gone), "task_weights": {"0": 2.0}, "hold": "quiet_hours"}
    )
    ids = {name: f"c{number}" for number, name in enumerate(names)}
    renamed = {task.id: f"7_{number}" for number, task in enumerate(state.tasks)}
    state = state.model_copy(update={"options": options})
    found = _rename_options(state, state, ids, renamed)
    assert found.drain == ("c2",)
    assert [(limit.tasks, limit.clients) for limit in found.limits] == [(("7_0",), ("c1",))]
    assert found.task_weights == {renamed[task.id]: 2.0 for task in state.tasks if task.id.startswith("0_")}
    assert found.hold == "none"


def test_a_drain_that_is_asked_about_begins_with_the_event() -> None:
    state = generate("steady", 12, 3, seed=1)
    scenario, _ = _make_scenario(state, read_changes({"drain": state.clients[0].process_id}, state), {})
    assert scenario.options.drain == ()
    assert [event.do for event in scenario.events] == ["drain"]
