"""Tests of settings that expire or are refused: their metrics, and `serve --check`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from certificates import trust, write_certificate
from command_line import run_here
from serving import wait_until
from serving_here import run_service_here

from optassign.service.settings import find_expiry

TOKEN = "some-token-0123456789"
EXPIRES = datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC)


def write_expiring(folder: Path) -> Path:
    issued = trustme.CA().issue_cert("127.0.0.1", not_after=EXPIRES)
    path = folder / "expiring.pem"
    issued.cert_chain_pems[0].write_to_path(str(path))
    return path


def test_the_end_of_a_certificate_is_read(tmp_path: Path) -> None:
    assert find_expiry(write_expiring(tmp_path)) == EXPIRES.timestamp()
    (tmp_path / "none.pem").write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", encoding="ascii")
    assert find_expiry(tmp_path / "none.pem") is None
    assert find_expiry(tmp_path / "missing.pem") is None


def test_metrics_tell_expiry_and_refused_files(tmp_path: Path) -> None:
    authority = trustme.CA()
    files, tokens = write_certificate(authority, tmp_path), tmp_path / "tokens"
    tokens.write_text(TOKEN + "\n", encoding="ascii")
    options = ("--workers", "1", "--token-file", str(tokens), *files.options)
    with run_service_here(*options, verify=trust(authority)) as service:
        service.client.headers["Authorization"] = f"Bearer {TOKEN}"
        expires = service.read_metric("optassign_certificate_expires_timestamp_seconds", file="certificate") or 0
        assert expires > (datetime.now(UTC) + timedelta(days=1)).timestamp()
        assert service.read_metric("optassign_settings_refused") == 0
        tokens.write_text("short\n", encoding="ascii")
        service.await_look("settings_kept")
        assert service.read_metric("optassign_settings_refused") == 1
        service.pass_seconds(10)
        assert service.read_metric("optassign_settings_refused") == 1, "as long as it is so"
        tokens.write_text(f"{TOKEN}\nanother-{TOKEN}\n", encoding="ascii")
        service.await_look("tokens_read")
        wait_until(lambda: service.read_metric("optassign_settings_refused") == 0)
        tokens.chmod(0o640)  # as after a repair of rights, which changes neither time nor size
        service.await_look("tokens_read")


def test_serve_checks_its_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens, applications = tmp_path / "tokens", tmp_path / "applications.toml"
    tokens.write_text(TOKEN + "\n", encoding="ascii")
    tokens.chmod(0o644)
    applications.write_text("[applications.orders]\nquiet_hours = ['08:00-18:00']\n", encoding="utf-8")
    files = write_certificate(trustme.CA(), tmp_path)
    good = ("serve", "--check", "--token-file", str(tokens), "--applications", str(applications), *files.options)
    code, out, err = run_here(capsys, *good, "--host", "0.0.0.0", "--recordings", str(tmp_path / "new"))
    assert (code, err) == (0, "")
    assert "tokens: 1\n" in out
    assert "certificate: expires " in out
    assert f"warning: every user of this machine may read {tokens}" in out
    assert not (tmp_path / "new").exists(), "nothing is made"
    applications.write_text("[applications.orders]\nquiet_hours = ['8-18']\n", encoding="utf-8")
    code, out, err = run_here(capsys, *good)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "quiet_hours" in err
    code, out, err = run_here(capsys, "serve", "--check", "--host", "0.0.0.0")
    assert code == 2
    assert "without a token" in err
