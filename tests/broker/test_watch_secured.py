"""Tests of `optassign watch` on a broker with TLS, passwords and only the documented rights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme
from certificates import write_key_store
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported, though it does not say so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from optassign_benchmarks.kafka.applications import WatchProcess
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import ToolMissingError, streams_group_classpath
from optassign_benchmarks.kafka.members import Restoring, SimulatedSubtopology
from optassign_benchmarks.kafka.processes import find_free_ports
from optassign_benchmarks.kafka.scenario import OURS, GroupChange, Observed, play, start_broker

_LONGEST = 600.0
"""Seconds: generous, since the machine may be busy."""
_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_RIGHTS = (
    (ResourceType.GROUP, AclOperation.DESCRIBE),
    (ResourceType.GROUP, AclOperation.DESCRIBE_CONFIGS),
    (ResourceType.GROUP, AclOperation.ALTER_CONFIGS),
    (ResourceType.TOPIC, AclOperation.DESCRIBE),
)


@dataclass(frozen=True)
class Secured:
    """A broker with a listener without passwords for simulated members, and a listener that requires a password."""

    broker: Broker
    address: str
    """The listener that requires a password."""
    authority: Path

    def watch(
        self, group: str, folder: Path, *options: str, password: str = "secret", authority: Path | None = None
    ) -> WatchProcess:
        """Return a watcher that trusts the authority and logs in with the password."""
        return WatchProcess(
            self.address,
            group,
            folder,
            *options,
            security_protocol="SASL_SSL",
            sasl_mechanism="PLAIN",
            sasl_jaas_config=f'{_LOGIN} username="watch" password="{password}";',
            ssl_truststore_type="PEM",
            ssl_truststore_location=authority or self.authority,
        )


def write_certificate(authority: trustme.CA, file: Path) -> Path:
    authority.cert_pem.write_to_path(str(file))
    return file


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    try:
        streams_group_classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("secured")
    authority = trustme.CA()
    (port,) = find_free_ports(1)
    with start_broker(
        folder / "broker",
        listeners={"SECURED": ("SASL_SSL", port)},
        listener_name_secured_sasl_enabled_mechanisms="PLAIN",
        listener_name_secured_plain_sasl_jaas_config=f'{_LOGIN} user_watch="secret";',
        listener_name_secured_ssl_keystore_type="PEM",
        listener_name_secured_ssl_keystore_location=write_key_store(authority, folder / "broker.pem"),
        authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        super_users="User:ANONYMOUS",  # clients without a password: members, and the broker itself
        group_streams_task_offset_interval_ms=1000,
        group_streams_min_task_offset_interval_ms=1000,
        group_streams_initial_rebalance_delay_ms=0,
        group_streams_session_timeout_ms=15_000,  # the coordinator removes no slow member
    ) as broker:
        admin = AdminClient({"bootstrap.servers": broker.address})
        granted = [
            AclBinding(kind, "*", ResourcePatternType.LITERAL, "User:watch", "*", operation, AclPermissionType.ALLOW)
            for kind, operation in _RIGHTS
        ]
        for future in admin.create_acls(granted).values():
            future.result(timeout=300)
        yield Secured(broker, f"127.0.0.1:{port}", write_certificate(authority, folder / "authority.pem"))


@pytest.mark.long
def test_a_join_ends_in_balance_with_the_documented_rights_alone(secured: Secured, tmp_path: Path) -> None:
    tasks = (SimulatedSubtopology("0", 8, logged=True), SimulatedSubtopology("1", 4, logged=False))
    group = Observed(
        secured.broker, tmp_path, "secured", tasks, Restoring(20_000, 10_000), assignor=OURS, standbys=1, watched=False
    )
    with group.members, secured.watch("secured", tmp_path) as watcher:
        figures = play(group, GroupChange("join", "ab", joins="c"), _LONGEST)
        assert figures.settled_s is not None, watcher.output
        metrics = watcher.read()
        assert metrics['optassign_watch_triggers_total{group="secured",reason="caught_up"}'] > 0
        assert "may not be described" not in watcher.output
        assert "AuthorizationException" not in watcher.output


@pytest.mark.long
def test_a_wrong_password_is_reported_and_ends_a_single_look(secured: Secured, tmp_path: Path) -> None:
    watcher = secured.watch("nobody", tmp_path, "--once", password="guessed")
    assert watcher.process.await_end() == 1
    assert "SaslAuthenticationException: Authentication failed" in watcher.output
    assert "guessed" not in watcher.output


@pytest.mark.long
def test_a_broker_of_another_authority_is_refused(secured: Secured, tmp_path: Path) -> None:
    stranger = write_certificate(trustme.CA(), tmp_path / "stranger.pem")
    watcher = secured.watch("nobody", tmp_path, "--once", authority=stranger)
    assert watcher.process.await_end() == 1
    assert "SslAuthenticationException: SSL handshake failed" in watcher.output
