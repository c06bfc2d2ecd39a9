"""Tests of ordinary client.properties: the connection that they configure, and refused keys."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import trustme

from optassign.formats.input_errors import InputError
from optassign.inspecting.cluster import make_connection, read_properties

PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a b" password="s\\"e;c=ret";'


def read(folder: Path, text: str) -> dict[str, str]:
    file = folder / "client.properties"
    file.write_text(text, encoding="utf-8")
    return read_properties(file)


def test_a_file_is_read_as_java_reads_it(tmp_path: Path) -> None:
    text = "# a comment\n! another\n\nsecurity.protocol=SASL_SSL\n a : b \\\n   c\nkey\\ one  value\nescaped=\\u0041\\tb\\\\\n"
    assert read(tmp_path, text) == {"security.protocol": "SASL_SSL", "a": "b c", "key one": "value", "escaped": "A\tb\\"}


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read .*allowed: a client\.properties"):
        read_properties(tmp_path / "missing")


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_passwords(mechanism: str) -> None:
    told = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.jaas.config": PLAIN, "group.id": "x"}
    settings, passed_by = make_connection(told, "f")
    assert settings == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "a b",
        "sasl_plain_password": 's"e;c=ret',
    }
    assert not passed_by


def test_certificates_from_a_file_or_from_the_properties(tmp_path: Path) -> None:
    authority = trustme.CA()
    file = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    own = authority.issue_cert("client.example")
    chain = b"".join(each.bytes() for each in own.cert_chain_pems).decode()
    for told in (
        {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(file)},
        {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": file.read_text(encoding="utf-8")},
        {
            "ssl.truststore.location": str(file),
            "ssl.truststore.type": "PEM",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": own.private_key_pem.bytes().decode(),
            "ssl.keystore.certificate.chain": chain,
        },
    ):
        settings, passed_by = make_connection({"security.protocol": "SSL", **told}, "f")
        context = settings["ssl_context"]
        assert isinstance(context, ssl.SSLContext)
        assert len(context.get_ca_certs()) == 1
        assert context.check_hostname
        assert not passed_by
    relaxed = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "", "ssl.protocol": "TLSv1.3"}
    settings, passed_by = make_connection(relaxed, "f")
    assert not settings["ssl_context"].check_hostname
    assert passed_by == ("ssl.protocol",)


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"security.protocol": "TLS"}, "f: security.protocol: found 'TLS'; allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ({"security.protocol": "SASL_SSL"}, "f: sasl.mechanism: found 'GSSAPI'; allowed: PLAIN, SCRAM-SHA-256"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "f: sasl.jaas.config: found no username"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "x.jks"}, "f: ssl.truststore.type: found 'JKS'; allowed: PEM"),
        (
            {"security.protocol": "SSL", "ssl.truststore.type": "PEM", "ssl.truststore.location": "/nowhere"},
            "f: ssl.truststore.location: found no certificates",
        ),
        ({"request.timeout.ms": "soon"}, "f: request.timeout.ms: found 'soon'"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.jaas.config": "x required clientId=a clientSecret=b;",
            },
            "f: sasl.oauthbearer.token.endpoint.url: found None",
        ),
    ],
)
def test_contradictory_properties_are_refused(told: dict[str, str], error: str) -> None:
    with pytest.raises(InputError) as raised:
        make_connection(told, "f")
    assert str(raised.value).startswith(error)


class _TokenEndpoint(BaseHTTPRequestHandler):
    asked: list[tuple[str | None, bytes]]

    def do_POST(self) -> None:
        self.asked.append((self.headers["Authorization"], self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps({"access_token": f"token-{len(self.asked)}", "expires_in": 3600}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def endpoint() -> Iterator[tuple[str, list[tuple[str | None, bytes]]]]:
    asked: list[tuple[str | None, bytes]] = []
    handler = type("Handler", (_TokenEndpoint,), {"asked": asked})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token", asked
        server.shutdown()
        thread.join()


def test_a_token_is_asked_for_once_and_used_again(endpoint: tuple[str, list[tuple[str | None, bytes]]]) -> None:
    url, asked = endpoint
    told = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": url,
        "sasl.jaas.config": 'X required clientId="id" clientSecret="se cret" scope="kafka";',
    }
    settings, _ = make_connection(told, "f")
    provider = settings["sasl_oauth_token_provider"]
    assert [provider.token(), provider.token()] == ["token-1", "token-1"]
    assert asked == [("Basic aWQ6c2UrY3JldA==", b"grant_type=client_credentials&scope=kafka")]
