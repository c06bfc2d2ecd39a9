"""Tests of tokens that may only drain, of repeated failed logins, and of secrets that other users may read."""

from pathlib import Path

import pytest
from serving_here import run_service_here

from optassign.service.http.access import read_tokens
from optassign.service.settings import SettingsError

POD, OWN, LOGIN = "pod-token-0123456789", "own-token-0123456789", "login-token-0123456789"


def test_a_token_that_may_drain_does_nothing_more(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{POD} may=drain orders\n{OWN} may=drain client=orders-1 orders\n", encoding="ascii")
    tokens.chmod(0o600)
    with run_service_here("--workers", "1", "--token-file", str(tokens)) as service:

        def ask(method: str, page: str, token: str = POD) -> int:
            headers = {"Authorization": f"Bearer {token}", "Optassign-Protocol": "1"}
            return service.client.request(method, f"/v1/applications{page}", headers=headers).status_code

        assert ask("POST", "/orders/drains/orders-2") == 200
        assert ask("DELETE", "/orders/drains/orders-2") == 200
        assert [ask("POST", f"/orders/{page}") for page in ("pause", "forget-plan", "end")] == [403, 403, 403]
        assert ask("POST", "/payments/drains/payments-1") == 403
        assert ask("POST", "/orders/drains/orders-1", OWN) == 200
        assert ask("POST", "/orders/drains/orders-2", OWN) == 403
        assert ask("DELETE", "/orders/drains/orders-2", OWN) == 403
        assert not service.list_events("secret_readable")


@pytest.mark.parametrize("words", ["may=drain client=", "client=orders-1", "may=all"])
def test_unknown_words_in_a_token_file_are_refused(tmp_path: Path, words: str) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{POD} {words} orders\n", encoding="ascii")
    with pytest.raises(SettingsError, match="line 1"):
        read_tokens(tokens)


def test_failed_logins_make_an_address_wait(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{LOGIN}\n", encoding="ascii")
    tokens.chmod(0o644)
    with run_service_here("--workers", "1", "--token-file", str(tokens)) as service:
        assert service.wait_for("secret_readable")["path"] == str(tokens)

        def log_in(token: str) -> int:
            return service.client.post("/login", data={"token": token}).status_code

        assert [log_in("wrong") for _ in range(10)] == [401] * 10
        assert log_in(LOGIN) == 429
        service.pass_seconds(2)
        assert log_in("wrong") == 401
        service.pass_seconds(1)
        assert log_in(LOGIN) == 429, "each failure doubles the wait"
        service.pass_seconds(2)
        assert log_in(LOGIN) == 303
        assert log_in("wrong") == 401
