"""Tests of files of scenarios: errors name place, found and allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from optassign.formats.input_errors import InputError
from optassign.simulation.timed.scenario import list_library, read_scenario

GOOD = """
name = "x"
duration_s = 100
[[subtopologies]]
partitions = 2
[[clients]]
count = 2
"""


def test_the_library_can_be_read_by_name() -> None:
    assert {read_scenario(name).name for name in list_library()} == set(list_library())
    assert "scale-out" in list_library()


@pytest.mark.parametrize(
    ("more", "place", "found"),
    [
        ('[[events]]\nat = 5\ndo = "explode"\nclients = ["c1"]', "events[0].do", "explode"),
        ('[[events]]\nat = 5\ndo = "crash"\nclients = ["c7"]', "events[0].clients", "c7"),
        ('[[events]]\nat = 5\ndo = "crash"', "events[0]", "neither"),
        ('[[events]]\nat = 5\ndo = "crash"\nzone = "b"', "events[0].zone", "no client has one"),
        ('[[events]]\nat = -5\ndo = "crash"\nclients = ["c1"]', "events[0].at", "-5"),
        ("[[clients]]\ncount = 3", "clients", "a second time"),
        ("[group]\nprotocol = 7", "group.protocol", "7"),
        ("[grop]\n", "grop", "grop"),
        ("[group]\nemulated_warmups = true", "group.emulated_warmups", "true; allowed: false with protocol probing"),
        ('[group]\nprotocol = "streams"\nwatch_s = 10', "group.watch_s", "10.0; allowed: null without emulated_warmups"),
        ('[[events]]\nat = 5\ndo = "remove-threads"\nclients = ["c1"]', "events[0].threads", '1 of "c1", which has 1'),
        ('[[events]]\nat = 5\ndo = "add-threads"', "events[0]", "neither"),
        ('[[events]]\nat = 5\ndo = "crash"\nclients = ["c1"]\nthreads = 2', "events[0]", "threads with crash"),
        ('[[events]]\nat = 5\ndo = "add-subtopologies"', "events[0].subtopologies", "none"),
        ('[[events]]\nat = 5\ndo = "add-subtopologies"\nsubtopologies = [0]', "events[0].subtopologies", "0; allowed: numbers"),
        ('[[events]]\nat = 5\ndo = "configure"', "events[0].configs", "num_standby_replicas"),
        ('[[events]]\nat = 5\ndo = "configure"\nzone = "a"\nconfigs = {}', "events[0]", "a zone with configure"),
        ('[[events]]\nat = 5\ndo = "configure"\nconfigs = { threads = 1 }', "events[0].configs.threads", "unknown"),
        ('[[events]]\nat = 5\ndo = "configure"\nconfigs = { num_standby_replicas = -1 }', "num_standby_replicas", "-1"),
        ('[[events]]\nat = 5\ndo = "drain"\nclients = ["c1"]\ndown_s = 9', "events[0]", "down_s with drain"),
        ('[[events]]\nat = 5\ndo = "join"\nclients = ["c1"]\nkeeps_disk = false', "events[0]", "keeps_disk with join"),
        (
            '[group]\nprotocol = "learner"\n[[events]]\nat = 5\ndo = "leave"\nclients = ["c1"]\ndown_s = 9',
            "events[0].down_s",
            "with protocol learner",
        ),
        ('[[start]]\nclient = "c1"\n[[start]]\nclient = "c1"', "start[1].client", "a second time"),
        ('[[start]]\nclient = "c1"\nactive = ["0_0"]\n[[start]]\nclient = "c2"\nactive = ["0_0"]', "start[1].active", "0_0"),
        ("[faults]\nlate = 1.5", "faults.late", "1.5"),
        ("[faults]\nslow_start_rate = 0", "faults.slow_start_rate", "0"),
        ("[faults]\nnoise_s = 0", "faults.noise_s", "0"),
        ("[faults]\nheartbeat = true", "faults.heartbeat", "unknown"),
        ('[group]\nprotocol = "streams"\n[faults]\nheartbeats = true', "faults.heartbeats", "false with protocol streams"),
        ('[group]\nprotocol = "streams"\n[faults]\nlate = 0.5', "faults.late", "0.5; allowed: 0 with protocol streams"),
        ('[[subtopologies]]\npartitions = 1\nfactors = "uniform"\nspread = 2', "subtopologies[1].spread", "at most 1"),
        ('[[clients]]\nids = ["a", "c1"]', "clients", "a second time"),
        ('[[clients]]\nids = ["a"]\nname = "b"', "clients[1]", "ids together with name or count"),
    ],
)
def test_errors_are_reported(more: str, place: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(GOOD + more)
    with pytest.raises(InputError) as caught:
        read_scenario(str(path))
    assert place in str(caught.value)
    assert found in str(caught.value)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match="scale-out"):
        read_scenario("scale-up")


def test_subtopologies_that_all_join_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "nothing.toml"
    path.write_text(GOOD.replace("partitions = 2", "partitions = 2\njoins = true"))
    with pytest.raises(InputError, match="joins for all"):
        read_scenario(str(path))


def test_clients_can_have_ids_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "named.toml"
    path.write_text(GOOD.replace("count = 2", 'ids = ["orders-a", "orders-b"]'))
    assert [name for name, _ in read_scenario(str(path)).list_clients()] == ["orders-a", "orders-b"]
