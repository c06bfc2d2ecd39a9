"""Tests of clients' names: client.id, host or tags; a name that several clients have is not used."""

import pytest
from judging import make_snapshot

from optassign.measuring.client_names import ClientNames, UnknownClientError

A, B, C = "5e2c0a10-0000-4000-8000-00000000000a", "5e2c0a10-0000-4000-8000-00000000000b", "77777777-0000-4000-8000-00000000000c"
NAMES = ClientNames(
    make_snapshot(
        {"0_0": 5},
        {
            A: {"client_id": "orders-1", "host": "box-1:8080", "tags": {"zone": "eu-a"}},
            B: {"consumers": {"orders-2-StreamThread-1-consumer-77": []}, "host": "box-2:8080", "tags": {"zone": "eu-a"}},
            C: {"consumers": {f"orders-{C}-StreamThread-1-consumer-7": []}, "tags": {"zone": "eu-b", "disk": "fast"}},
        },
    )
)


def test_the_short_name_is_client_id_or_host_or_tags() -> None:
    assert NAMES.label(A) == f"{A} (orders-1)"
    assert NAMES.label(B) == f"{B} (orders-2)", "of older plug-ins, read off the consumers"
    assert NAMES.label(C) == f"{C} (disk=fast, zone=eu-b)", "Kafka's own client.id says nothing"
    assert NAMES.label("who is gone") == "who is gone"
    assert list(NAMES.list_all(A)) == ["client.id orders-1", "host box-1:8080", "zone=eu-a"]


def test_a_shared_name_is_not_used() -> None:
    """All instances run from one configuration: client.id is the same, hosts differ."""
    clients = {name: {"client_id": "orders", "host": f"box-{name}:80"} for name in "ab"}
    names = ClientNames(make_snapshot({"0_0": 5}, clients))
    assert [names.short(name) for name in "ab"] == ["box-a:80", "box-b:80"]
    assert ClientNames(make_snapshot({"0_0": 5}, {"a": {}, "b": {}})).label("a") == "a"


@pytest.mark.parametrize(
    ("text", "client"),
    [
        (A, A),
        ("777", C),
        ("orders-1", A),
        ("orders-2", B),
        ("box-2", B),
        ("box-1:8080", A),
        ("zone=eu-b", C),
        ("eu-b", C),
        ("fast", C),
    ],
)
def test_a_client_is_found_by_any_of_its_names(text: str, client: str) -> None:
    assert NAMES.find(text) == client


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("5e2c", (f"{A} (orders-1)", f"{B} (orders-2)")),
        ("zone=eu-a", (f"{A} (orders-1)", f"{B} (orders-2)")),
        ("orders-", (f"{A} (orders-1)", f"{B} (orders-2)")),
        ("nobody", ()),
        ("", ()),
    ],
)
def test_ambiguous_and_unknown_names_are_errors(text: str, fits: tuple[str, ...]) -> None:
    with pytest.raises(UnknownClientError) as error:
        NAMES.find(text)
    assert error.value.fits == fits


def test_a_whole_name_comes_before_prefixes() -> None:
    names = ClientNames(make_snapshot({"0_0": 5}, {"a": {"client_id": "orders"}, "b": {"client_id": "orders-2"}}))
    assert names.find("orders") == "a"
