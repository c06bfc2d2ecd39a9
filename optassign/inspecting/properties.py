"""An ordinary client.properties of Kafka's Java tools, read for kafka-python."""

from __future__ import annotations

import base64
import json
import re
import ssl
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider

from optassign.formats.input_errors import InputError
from optassign_models.policy.constants import RENEW_AT, TOKEN_LIFE_S, TOKEN_S

__all__ = ["make_connection", "read_properties"]

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = (*_PASSWORDS, "OAUTHBEARER")
_READ = re.compile(
    r"security\.protocol|sasl\.mechanism|sasl\.jaas\.config|sasl\.oauthbearer\.token\.endpoint\.url|sasl\.oauthbearer\.scope"
    r"|ssl\.(truststore|keystore)\.(location|type|certificates|key|certificate\.chain)|ssl\.key\.password"
    r"|ssl\.keystore\.password|ssl\.truststore\.password|ssl\.endpoint\.identification\.algorithm"
    r"|request\.timeout\.ms|client\.id|bootstrap\.servers"
)
_SECURITY = ("security.", "sasl.", "ssl.")
_OPTION = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;\"]+))")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """The keys and values of a Java properties file. InputError if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(str(path), "", f"that it cannot be read ({reason})", "a client.properties in UTF-8") from None
    found = {}
    lines = iter(text.splitlines())
    for line in lines:
        line = line.lstrip()
        if not line or line[0] in "#!":
            continue
        while _continues(line):
            line = line[:-1] + next(lines, "").lstrip()
        parts = re.match(r"((?:[^\\=:\s]|\\.)+)\s*[=:]?\s*(.*)", line, re.DOTALL)
        if parts:
            found[_unescape(parts[1])] = _unescape(parts[2])
    return found


def make_connection(properties: Mapping[str, str], source: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Settings for kafka-python, and the names of security settings that are not obeyed.

    InputError, about `source`, for a setting with which no connection can be made. Settings that concern no connection
    (serialisers, `group.id`) are passed by.
    """
    protocol = properties.get("security.protocol", "PLAINTEXT")
    if protocol not in _PROTOCOLS:
        raise InputError(source, "security.protocol", repr(protocol), ", ".join(_PROTOCOLS))
    settings: dict[str, Any] = {"security_protocol": protocol}
    if "request.timeout.ms" in properties:
        settings["request_timeout_ms"] = _read_ms(properties["request.timeout.ms"], source)
    if protocol.startswith("SASL"):
        settings |= _read_sasl(properties, source)
    if protocol.endswith("SSL"):
        settings["ssl_context"] = _make_context(properties, source)
    passed_by = tuple(sorted(name for name in properties if name.startswith(_SECURITY) and not _READ.fullmatch(name)))
    return settings, passed_by


def _continues(line: str) -> bool:
    """Whether it ends with an odd number of backslashes."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if len(m[1]) == 5 else _ESCAPED.get(m[1], m[1]), text)


def _read_ms(text: str, source: str) -> int:
    if not text.isdigit() or not int(text):
        raise InputError(source, "request.timeout.ms", repr(text), "milliseconds, 1 or more")
    return int(text)


def _read_sasl(properties: Mapping[str, str], source: str) -> dict[str, Any]:
    mechanism = properties.get("sasl.mechanism", "GSSAPI")
    if mechanism not in _MECHANISMS:
        raise InputError(source, "sasl.mechanism", repr(mechanism), ", ".join(_MECHANISMS))
    jaas = {
        found[1]: found[3] if found[2] is None else re.sub(r"\\(.)", r"\1", found[2])
        for found in _OPTION.finditer(properties.get("sasl.jaas.config", ""))
    }
    needed = ("username", "password") if mechanism in _PASSWORDS else ("clientId", "clientSecret")
    missing = [name for name in needed if name not in jaas]
    if missing:
        raise InputError(source, "sasl.jaas.config", f"no {missing[0]}", f"one with {needed[0]}=… and {needed[1]}=…")
    if mechanism in _PASSWORDS:
        return {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": jaas["username"],
            "sasl_plain_password": jaas["password"],
        }
    url = properties.get("sasl.oauthbearer.token.endpoint.url")
    if not url or not url.startswith(("https://", "http://")):
        raise InputError(source, "sasl.oauthbearer.token.endpoint.url", repr(url), "the https:// URL of a token endpoint")
    scope = jaas.get("scope") or properties.get("sasl.oauthbearer.scope")
    provider = _ClientCredentials(url, jaas["clientId"], jaas["clientSecret"], scope)
    return {"sasl_mechanism": mechanism, "sasl_oauth_token_provider": provider}


def _make_context(properties: Mapping[str, str], source: str) -> ssl.SSLContext:
    """A context that trusts the file's certificates, without them the system's."""
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "JKS")
        if f"ssl.{store}.location" in properties and kind != "PEM":
            how = f"PEM with ssl.{store}.location; make it with openssl pkcs12 -in STORE.p12 -out STORE.pem -nodes"
            raise InputError(source, f"ssl.{store}.type", repr(kind), how)
    trusted = properties.get("ssl.truststore.certificates")
    file = properties.get("ssl.truststore.location")
    try:
        context = ssl.create_default_context(cafile=file, cadata=trusted)
    except (OSError, ValueError) as error:
        place = "ssl.truststore.certificates" if file is None else "ssl.truststore.location"
        raise InputError(source, place, f"no certificates ({error})", "certificates as PEM") from None
    if properties.get("ssl.endpoint.identification.algorithm", "https") == "":
        context.check_hostname = False
    _load_own(context, properties, source)
    return context


def _load_own(context: ssl.SSLContext, properties: Mapping[str, str], source: str) -> None:
    """The client's own certificate, for mutual TLS."""
    chain, key = properties.get("ssl.keystore.certificate.chain"), properties.get("ssl.keystore.key")
    file = properties.get("ssl.keystore.location")
    password = properties.get("ssl.key.password")
    try:
        if file is not None:
            context.load_cert_chain(file, password=password)
        elif chain is not None and key is not None:
            # Python reads a key from files only.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as both:
                both.write(f"{key}\n{chain}\n")
                both.flush()
                context.load_cert_chain(both.name, password=password)
    except (OSError, ValueError) as error:
        raise InputError(source, "ssl.keystore", f"no usable key ({error})", "a key and certificates as PEM") from None


class _ClientCredentials(AbstractTokenProvider):  # type: ignore[misc] # kafka-python has no types
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
