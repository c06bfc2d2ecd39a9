"""Tests of `serve --register`: the service uses a user's assignor in its workers and in comparisons."""

from pathlib import Path

from serving import run_service

from optassign.formats.assignment import TaskAssignment
from optassign.generating import generate

MODULE = """
from optassign.assignors.greedy import GreedyAssignor


class Mine(GreedyAssignor):
    name = "mine"

    def assign(self, state):
        return super().assign(state).model_copy(update={"assignor": "mine"})
"""


def test_a_registered_assignor_answers_and_is_compared(tmp_path: Path) -> None:
    (tmp_path / "my_module.py").write_text(MODULE, encoding="utf-8")
    state = generate("scale-out", 12, 3, 1, seed=1)
    options = ("--register", "my_module:Mine", "--assignor", "mine", "--workers", "1")
    with run_service(*options, PYTHONPATH=str(tmp_path)) as service:
        given = TaskAssignment.model_validate_json(service.assign(state).content)
        assert given.assignor == "mine"
        compared = service.client.post(
            "/v1/compare?assignors=mine,greedy",
            content=state.model_dump_json(),
            headers={"Content-Type": "application/json", "Optassign-Protocol": "1"},
        )
        assert compared.status_code == 200, compared.text
        assert list(compared.json()["assignors"]) == ["previous", "mine", "greedy"]
        assert compared.json()["failures"] == {}
