"""Tests of the registry of assignors, of `assign`, and of the names that the package exports."""

from types import SimpleNamespace

import pytest

import optassign
from optassign import assignor as registry
from optassign.assignor import AssignorError, TaskAssignor, assign, create, list_names, register
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError


class AllToTheFirst:
    """An assignor that gives all tasks to the first client and records its inputs."""

    def __init__(self, time_limit: float) -> None:
        self.time_limit = time_limit
        self.told: list[object] = []

    def configure(self, configs: AssignmentConfigs) -> None:
        self.told.append(configs)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        first, *others = state.clients
        return TaskAssignment(
            assignor="first",
            clients=(
                KafkaStreamsAssignment(process_id=first.process_id, active=tuple(state.all_tasks)),
                *(KafkaStreamsAssignment(process_id=client.process_id) for client in others),
            ),
        )

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        self.told.append(error)


class ForgetsAClient(AllToTheFirst):
    def assign(self, state: ApplicationState) -> TaskAssignment:
        return TaskAssignment(assignor="forgets", clients=())


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))


@pytest.fixture
def state() -> ApplicationState:
    return ApplicationState.model_validate(
        {
            "format": 1,
            "configs": {"num_standby_replicas": 1},
            "tasks": [{"id": "0_0", "stateful": True}],
            "clients": [{"process_id": "a", "threads": 1}, {"process_id": "b", "threads": 1}],
        }
    )


def test_a_registered_assignor_is_created_and_used(state: ApplicationState) -> None:
    made: list[AllToTheFirst] = []

    def factory(time_limit: float) -> AllToTheFirst:
        made.append(AllToTheFirst(time_limit))
        return made[-1]

    register("first", factory)
    assert "first" in list_names()
    answer = assign(state, "first", time_limit=0.5)
    assert [client.active for client in answer.clients] == [("0_0",), ()]
    assert made[0].time_limit == 0.5
    assert made[0].told == [state.configs, AssignmentError.NONE]
    assign(state, "first")
    assert len(made) == 2, "each call has its own assignor"


def test_an_assignor_object_needs_no_name(state: ApplicationState) -> None:
    own = AllToTheFirst(1)
    assert isinstance(own, TaskAssignor)
    assert assign(state, own).assignor == "first"


def test_an_assignor_may_be_named_by_module_and_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "some_module", SimpleNamespace(Some=AllToTheFirst))
    register("lazy", "some_module:Some")
    assert isinstance(create("lazy", time_limit=3), AllToTheFirst)


def test_an_answer_that_kafka_would_refuse_is_an_error(state: ApplicationState) -> None:
    own = ForgetsAClient(1)
    with pytest.raises(AssignorError, match="'forgets' returned an answer that Kafka would refuse: MISSING_PROCESS_ID"):
        assign(state, own)
    assert own.told[-1] is AssignmentError.MISSING_PROCESS_ID


def test_the_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"found 'cp_sat'; allowed: .*cp-sat.*greedy"):
        create("cp_sat")


def test_a_name_cannot_be_registered_twice() -> None:
    with pytest.raises(ValueError, match="'greedy' is already registered"):
        register("greedy", AllToTheFirst)
    with pytest.raises(ValueError, match="needs a name"):
        register("", AllToTheFirst)
    register("greedy", AllToTheFirst, replace=True)
    assert isinstance(create("greedy"), AllToTheFirst)


@pytest.mark.parametrize("limit", [-1, float("inf"), float("nan")])
def test_bad_time_limits(limit: float) -> None:
    register("first", AllToTheFirst)
    with pytest.raises(ValueError, match="time_limit"):
        create("first", time_limit=limit)


def test_the_package_exports_these_names() -> None:
    for name in optassign.__all__:
        assert getattr(optassign, name) is not None
        assert name in dir(optassign)
    assert optassign.assign is assign
    assert optassign.ApplicationState is ApplicationState
    assert not hasattr(optassign, "other")


class InTwoForms(AllToTheFirst):
    VARIANTS = ("plain", "fancy")

    def __init__(self, time_limit: float, variant: str = "plain") -> None:
        super().__init__(time_limit)
        self.variant = variant


def test_variants_are_asked_for_behind_a_colon() -> None:
    register("forms", InTwoForms)
    made = [create(name) for name in ("forms", "forms:plain", "forms:fancy")]
    assert [one.variant for one in made if isinstance(one, InTwoForms)] == ["plain", "plain", "fancy"]
    assert registry.list_variants("forms") == ("plain", "fancy")
    assert registry.list_variants("greedy") == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("forms:odd", "found variant 'odd' of 'forms'; allowed: plain, fancy"),
        ("forms:", "found variant '' of 'forms'; allowed: plain, fancy"),
        ("greedy:odd", "found variant 'odd' of 'greedy'; allowed: none"),
        ("odd:forms", "found 'odd'; allowed: "),
    ],
)
def test_unknown_variants_are_named_with_what_is_allowed(name: str, message: str) -> None:
    register("forms", InTwoForms)
    with pytest.raises(ValueError) as error:
        create(name)
    assert message in str(error.value)


def test_a_name_has_no_colon() -> None:
    with pytest.raises(ValueError) as error:
        register("forms:fancy", InTwoForms)
    assert "colon" in str(error.value)
