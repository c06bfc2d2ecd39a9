"""Tokens for SASL/OAUTHBEARER by the client credentials grant, as Kafka's own login handler gets them."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from kafka.net.sasl.oauth import AbstractTokenProvider

from optassign_models.policy.commands import RENEW_AT, TOKEN_LIFE_S, TOKEN_S

__all__ = ["ClientCredentials"]


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
    """Asks a token endpoint with an id and a secret; a token is used until most of its life is over."""

    def __init__(self, url: str, client_id: str, secret: str, scope: str | None) -> None:
        self._url = url
        # RFC 6749, 2.3.1: both are form-encoded before they become the user and password of basic authentication.
        user = f"{urllib.parse.quote_plus(client_id)}:{urllib.parse.quote_plus(secret)}"
        self._basic = base64.b64encode(user.encode()).decode()
        self._form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        self._lock = threading.Lock()
        self._token, self._renew_at = "", 0.0

    def token(self) -> str:
        """The token to send. ConnectionError if the endpoint gives none."""
        with self._lock:
            if time.monotonic() >= self._renew_at:
                self._token, life = self._ask()
                self._renew_at = time.monotonic() + RENEW_AT * life
            return self._token

    def _ask(self) -> tuple[str, float]:
        headers = {"Authorization": f"Basic {self._basic}", "Accept": "application/json"}
        request = urllib.request.Request(self._url, urllib.parse.urlencode(self._form).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=TOKEN_S) as response:
                answer = json.loads(response.read(1 << 20))
            return str(answer["access_token"]), float(answer.get("expires_in", TOKEN_LIFE_S))
        except (OSError, ValueError, KeyError, TypeError) as error:  # urllib's errors are OSErrors
            raise ConnectionError(f"the token endpoint {self._url} gave no token: {error}") from None
