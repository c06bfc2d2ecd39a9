"""Tests of access to the service: loopback only, or token and TLS."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import trustme
from certificates import trust, write_certificate
from command_line import run_here
from serving import HEADERS, Service, make_state, read_answer, run_service
from serving_here import run_service_here

from optassign.generating import generate

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def tls(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return files of the certificate and the key."""
    files = write_certificate(authority, tmp_path_factory.mktemp("tls"))
    return str(files.certificate), str(files.key)


@pytest.fixture(scope="module")
def guarded(authority: trustme.CA, tls: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service on all addresses, with token and TLS."""
    token_file = tmp_path_factory.mktemp("token") / "token"
    token_file.write_text(f"{TOKEN}\n", encoding="utf-8")
    options = ("--host", "0.0.0.0", "--token-file", str(token_file), "--tls-cert", tls[0], "--tls-key", tls[1])
    with run_service("--workers", "1", *options, verify=trust(authority)) as service:
        yield service


def test_with_the_token_over_tls(guarded: Service) -> None:
    assert str(guarded.client.base_url).startswith("https://")
    response = guarded.assign(generate("steady", 12, 3, 1, seed=1), authorization=f"Bearer {TOKEN}")
    assert response.status_code == 200
    assert guarded.client.get("/metrics", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x"])
def test_requests_without_the_token_are_refused(guarded: Service, given: str | None) -> None:
    response = guarded.assign(generate("steady", 12, 3, 1, seed=1), authorization=given)
    assert response.status_code == 401
    assert response.json()["where"] == "Authorization"
    assert response.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in response.text


def test_only_health_pages_are_open(guarded: Service) -> None:
    for page, status in (("/healthz", 200), ("/readyz", 200), ("/metrics", 401), ("/openapi.json", 401), ("/other", 401)):
        assert guarded.client.get(page).status_code == status, page
    assert guarded.client.post("/v1/compare", content=b"{}", headers=HEADERS).status_code == 401


def test_without_tls_there_is_no_answer(guarded: Service) -> None:
    plain = str(guarded.client.base_url).replace("https", "http")
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{plain}/healthz")


def test_the_token_is_in_no_log(guarded: Service) -> None:
    assert guarded.wait_for("listening")["token"] is True
    assert TOKEN not in str(guarded.log)


def test_the_token_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTASSIGN_TOKEN", TOKEN)
    with run_service_here("--workers", "1", "--behind-proxy", "--host", "0.0.0.0") as service:
        assert service.client.get("/metrics").status_code == 401
        assert service.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "--host: found 0.0.0.0, which others can reach, without a token; allowed: a loopback address"),
        (["--host", "0.0.0.0", "--behind-proxy"], "found 0.0.0.0, which others can reach, without a token"),
        (["--host", "0.0.0.0", "--tls-cert", "CERT", "--tls-key", "KEY"], "without a token"),
        (["--host", "0.0.0.0", "--token-file", "TOKEN"], "without TLS, so that others could read the token"),
        (["--host", "203.0.113.7", "--token-file", "TOKEN", "--behind-proxy"], "cannot be listened on"),
        (["--token-file", "no/such/file"], "--token-file: found that no/such/file cannot be read"),
        (["--token-file", "SHORT"], "found a token of 5 characters; allowed: at least 16"),
        (["--tls-cert", "CERT"], "found only one of --tls-cert and --tls-key; allowed: both or neither"),
        (["--tls-cert", "CERT", "--tls-key", "CERT"], "--tls-cert, --tls-key: found that"),
        (["--tls-cert", "TOKEN", "--tls-key", "KEY"], "allowed: PEM files that belong together"),
        (["--recordings", "TOKEN"], "which is a file; allowed: a folder"),
        (["--assignor", "best"], "--assignor: found 'best'; allowed: "),
        (["--port", "70000"], "found 70000; allowed: 0 to 65535"),
        (["--workers", "0"], "found 0; allowed: 1 to 256"),
        (["--keep-bytes", "much"], "found 'much'; allowed: bytes above 0, or with K, M, G or T"),
        (["--keep-days", "0"], "found 0; allowed: above 0"),
        (["--default-deadline", "nan"], "found 'nan'; allowed: seconds, or a duration"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_options_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, tls: tuple[str, str], options: list[str], message: str
) -> None:
    (tmp_path / "token").write_text(TOKEN, encoding="utf-8")
    (tmp_path / "short").write_text("short", encoding="utf-8")
    named = {"CERT": tls[0], "KEY": tls[1], "TOKEN": str(tmp_path / "token"), "SHORT": str(tmp_path / "short")}
    code, _, error = run_here(capsys, "serve", "--port", "0", *(named.get(option, option) for option in options))
    assert code == 2
    assert error.startswith("optassign serve: error: ")
    assert error.count("\n") == 1
    assert message in error


def test_two_services_do_not_share_a_port_or_a_folder(
    service: Service, recordings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = str(service.client.base_url.port)
    code, _, error = run_here(capsys, "serve", "--port", port)
    assert code == 2
    assert f"127.0.0.1 port {port} cannot be listened on" in error
    if os.name == "posix":
        code, _, error = run_here(capsys, "serve", "--port", "0", "--recordings", str(recordings))
        assert code == 2
        assert "where another service records" in error


def test_only_clients_with_a_certificate_may_connect(tmp_path: Path) -> None:
    """The service requires mutual TLS."""
    authority = trustme.CA()
    files, ca = write_certificate(authority, tmp_path), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(ca))
    known, unknown = trust(authority), trust(authority)
    authority.issue_cert("plug-in@example.org").configure_cert(known)
    with run_service_here("--workers", "1", *files.options, "--tls-client-ca", str(ca), verify=known) as service:
        assert read_answer(service.assign(make_state("mutual"))).clients
        with httpx.Client(base_url=service.client.base_url, verify=unknown) as stranger, pytest.raises(httpx.HTTPError):
            stranger.get("/readyz")
