"""Tests of `optassign inspect` on a broker with TLS and passwords that grants the right DESCRIBE only.

The password is sent by PLAIN and by SCRAM.
"""

from __future__ import annotations

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
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from optassign.cli import main
from optassign.recordings.recording import read_recording
from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.jars import ToolMissingError, classpath
from optassign_benchmarks.kafka.processes import find_free_ports

_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
_SCRAMS = {"SCRAM-SHA-256": ScramMechanism.SCRAM_SHA_256, "SCRAM-SHA-512": ScramMechanism.SCRAM_SHA_512}


def write_client(file: Path, authority: Path, password: str, mechanism: str = "PLAIN") -> Path:
    told = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{_PLAIN if mechanism == "PLAIN" else _SCRAM} username="looker" password="{password}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": authority,
    }
    file.write_text("".join(f"{name}={value}\n" for name, value in told.items()), encoding="utf-8")
    return file


def allow(broker: Broker, kind: ResourceType) -> None:
    """Allow the user to describe all groups or all topics."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    binding = AclBinding(
        kind, "*", ResourcePatternType.LITERAL, "User:looker", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW
    )
    for future in admin.create_acls([binding]).values():
        future.result(timeout=300)


def add_scram_passwords(broker: Broker, password: bytes) -> None:
    """Set the user's password for each mechanism of SCRAM."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    for mechanism in _SCRAMS.values():  # a request may name a user only once
        told = UserScramCredentialUpsertion("looker", ScramCredentialInfo(mechanism, 4096), password)
        for future in admin.alter_user_scram_credentials([told]).values():
            future.result(timeout=300)


@pytest.mark.long
def test_a_password_over_tls_and_describe_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    authority, (port,) = trustme.CA(), find_free_ports(1)
    trusted = tmp_path / "authority.pem"
    authority.cert_pem.write_to_path(str(trusted))
    settings = {
        "listener.name.secured.sasl.enabled.mechanisms": ",".join(["PLAIN", *_SCRAMS]),
        "listener.name.secured.plain.sasl.jaas.config": f'{_PLAIN} user_looker="secret";',
        **{f"listener.name.secured.{name.lower()}.sasl.jaas.config": f"{_SCRAM};" for name in _SCRAMS},
        "listener.name.secured.ssl.keystore.type": "PEM",
        "listener.name.secured.ssl.keystore.location": write_key_store(authority, tmp_path / "broker.pem"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    listeners = {"SECURED": ("SASL_SSL", port)}
    client = write_client(tmp_path / "client.properties", trusted, "secret")
    file = tmp_path / "seen.json.gz"

    def ask(config: Path) -> tuple[int, str]:
        command = ["inspect", "--bootstrap-server", f"127.0.0.1:{port}", "--group", "secured", "--recording", str(file)]
        code = main([*command, "--command-config", str(config)])
        return code, capsys.readouterr().err

    with (
        Broker(tmp_path / "broker", properties=settings, listeners=listeners) as broker,
        StreamsApplication(broker, "secured", tmp_path, task_assignor_class=None) as group,
    ):
        group.load.write(PRELOAD)
        group.start("a", "b")
        group.await_complete()
        refused = write_client(tmp_path / "wrong.properties", trusted, "wrong")
        code, message = ask(refused)
        assert (code, "--command-config" in message or "--bootstrap-server" in message) == (2, True), message
        code, message = ask(client)
        assert (code, "right DESCRIBE on the group" in message) == (2, True), message
        allow(broker, ResourceType.GROUP)
        assert ask(client)[0] == 0
        assert all(task.changelog_end_offset is None for task in read_recording(file).snapshot.tasks)
        allow(broker, ResourceType.TOPIC)
        assert ask(client)[0] == 0
        seen = read_recording(file)
        assert [len(each.active) for each in seen.assignment.clients] == [18, 18]
        assert all(task.changelog_end_offset for task in seen.snapshot.tasks if task.logged)
        add_scram_passwords(broker, b"salted")
        for mechanism in _SCRAMS:
            file.unlink()
            told = write_client(tmp_path / f"{mechanism}.properties", trusted, "salted", mechanism)
            code, message = ask(told)
            assert code == 0, message
            assert read_recording(file).assignment.clients == seen.assignment.clients
            assert ask(write_client(tmp_path / "wrong.properties", trusted, "wrong", mechanism))[0] == 2
