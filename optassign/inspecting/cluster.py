"""A read-only connection to the brokers, configured by a client.properties: groups, topics and end offsets."""

from __future__ import annotations

import base64
import json
import logging
import re
import ssl
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from kafka import TopicPartition as KafkaTopicPartition
from kafka.admin import KafkaAdminClient
from kafka.errors import (
    AuthorizationError,
    GroupAuthorizationFailedError,
    IncompatibleBrokerVersion,
    KafkaError,
    SaslAuthenticationFailedError,
    for_code,
)
from kafka.net.sasl.oauth import AbstractTokenProvider
from kafka.protocol.admin import DescribeLogDirsRequest
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.consumer import OffsetSpec

from optassign.formats.input_errors import InputError
from optassign.inspecting.group_reading import Topic

BOOTSTRAP_MS = 30_000
"""Time-out of the first answer of any broker: the default of kafka-python."""
NAMED_GROUPS = 10
"""The most groups that an error names, so that the error stays one line."""
TOKEN_S = 10.0
"""Time-out of the token endpoint: Kafka's default for connecting."""
RENEW_AT = 0.8
"""The share of a token's life after which it is renewed: Kafka's default of `sasl.login.refresh.window.factor`."""
TOKEN_LIFE_S = 300.0
"""Seconds that a token lives if the endpoint returns no `expires_in`: most endpoints grant at least as many."""


_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MECHANISMS = (*_PASSWORDS, "OAUTHBEARER")
_KNOWN_SETTINGS = re.compile(
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
    """Return the keys and values of a Java properties file. InputError if it cannot be read."""
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
    """Return settings for kafka-python, and the names of ignored security settings.

    InputError, about `source`, for a setting with which no connection is possible. Settings that do not concern connections
    (serialisers, `group.id`) are ignored.
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
    ignored = tuple(sorted(name for name in properties if name.startswith(_SECURITY) and not _KNOWN_SETTINGS.fullmatch(name)))
    return settings, ignored


def _continues(line: str) -> bool:
    """Return whether the next line continues this line: it ends with an odd number of backslashes."""
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
    """Return a context that trusts the certificates of the properties, otherwise the system's, and presents the client's
    certificate if the properties have one.

    Host names are not checked if ssl.endpoint.identification.algorithm is empty. InputError for stores that are not PEM, or
    certificates that cannot be read.
    """
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
    """Load the client's own certificate, for mutual TLS."""
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
    """A source of OAuth tokens by the client credentials grant (RFC 6749, 4.4); reuses each token for most of its life."""

    def __init__(self, url: str, client_id: str, secret: str, scope: str | None) -> None:
        self._url = url
        # RFC 6749, 2.3.1: both are form-encoded before they become the user and password of basic authentication.
        user = f"{urllib.parse.quote_plus(client_id)}:{urllib.parse.quote_plus(secret)}"
        self._basic = base64.b64encode(user.encode()).decode()
        self._form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        self._lock = threading.Lock()
        self._token, self._renew_at = "", 0.0

    def token(self) -> str:
        """Return the token to send. ConnectionError if the endpoint gives none."""
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


class StreamsGroupDescribeRequest(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg] # kafka-python has no types
    """Request for groups of `group.protocol=streams` by name (KIP-1071, Kafka 4.1). kafka-python does not know the message: the
    JSON file next to this module has its fields on the wire.
    """


class StreamsGroupDescribeResponse(ApiMessage, load_json=__package__):  # type: ignore[misc, call-arg] # the same
    """Response with the topologies, members, offsets and assignments of groups."""


_SERVER = "--bootstrap-server"
_NOT_FOUND = 69
"""Kafka's GROUP_ID_NOT_FOUND."""
_Result = TypeVar("_Result")


class _Admin(KafkaAdminClient):  # type: ignore[misc] # kafka-python has no types
    """kafka-python's client with requests that it lacks, and without its decoding of members, which loses their bytes."""

    def _describe_groups_process_response(self, response: Any) -> dict[str, Any]:
        return {group.group_id: group for group in response.groups}

    async def ask_for_streams_group(self, group: str) -> Any:
        """Return the description of a group with `group.protocol=streams`. IncompatibleBrokerVersion before Kafka 4.1."""
        request = StreamsGroupDescribeRequest(group_ids=[group], include_authorized_operations=False)
        (node,) = (await self._find_coordinator_ids([group])).values()
        response = await self._manager.send(request, node_id=node)
        return response.groups[0]

    async def ask_for_racks(self) -> dict[int, str | None]:
        """Return broker → its rack, or None if it has no rack."""
        metadata = await self._get_cluster_metadata([])
        return {broker["node_id"]: broker.get("rack") for broker in metadata["brokers"]}

    async def ask_for_sizes(self, partitions: Mapping[str, list[int]]) -> dict[tuple[str, int], int]:
        """Return (topic, partition) → bytes of its largest replica, on the brokers that answer this user."""
        sizes: dict[tuple[str, int], int] = {}
        for broker in (await self._get_cluster_metadata([]))["brokers"]:
            request = DescribeLogDirsRequest(topics=list(partitions.items()))
            response = await self._manager.send(request, node_id=broker["node_id"])
            for topic in (topic for folder in response.results for topic in folder.topics):
                for part in topic.partitions:
                    place = (topic.name, part.partition_index)
                    sizes[place] = max(sizes.get(place, 0), part.partition_size)
        return sizes

    def run(self, question: Callable[..., Any], *arguments: Any) -> Any:
        """Run one of the asynchronous requests above, and return its result."""
        return self._manager.run(question, *arguments)


class ClusterConnection:
    """An open connection to the brokers, as a context manager. Every failure is an InputError in terms of the command line."""

    def __init__(self, servers: str, settings: Mapping[str, Any]) -> None:
        # kafka-python logs each attempt to connect and its outcome; the final error says it once.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._servers = servers
        self._admin: Any = self._ask(
            lambda: _Admin(
                bootstrap_servers=servers.split(","),
                client_id="optassign-inspect",
                bootstrap_timeout_ms=BOOTSTRAP_MS,
                **settings,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._admin.close()

    def describe_classic(self, group: str) -> Any | None:
        """Return the broker's description of a classic group, members with their bytes; None if there is no such group."""
        found = self._ask(lambda: self._admin.describe_groups([group])[group])
        if found.error_code not in (0, _NOT_FOUND):
            raise self._explain(for_code(found.error_code)(), group)
        return None if found.error_code == _NOT_FOUND or found.group_state == "Dead" else found

    def describe_streams(self, group: str) -> Any | None:
        """Return the broker's description of a group of the streams protocol; None if there is no such group."""
        try:
            found = self._ask(lambda: self._admin.run(self._admin.ask_for_streams_group, group), IncompatibleBrokerVersion)
        except IncompatibleBrokerVersion:
            return None
        if found.error_code not in (0, _NOT_FOUND):
            raise self._explain(for_code(found.error_code)(), group)
        return None if found.error_code == _NOT_FOUND or found.group_state == "Dead" else found

    def list_groups(self) -> list[str]:
        """Return the names of all groups that the user may see, sorted; empty if listing is forbidden."""
        try:
            return sorted({group["group_id"] for group in self._ask(self._admin.list_groups, KafkaError)})
        except KafkaError:
            return []

    def list_topics(self) -> list[str]:
        """Return the names of all topics that the user may see."""
        return sorted(self._ask(self._admin.list_topics))

    def read_topics(self, names: Iterable[str], *, with_ends: bool) -> tuple[dict[str, Topic], tuple[str, ...]]:
        """Return topic → racks of replicas and, `with_ends`, end offsets and sizes; and the missing or hidden topics."""
        wanted = sorted(names)
        if not wanted:
            return {}, ()
        racks = self._ask(lambda: self._admin.run(self._admin.ask_for_racks))
        found: dict[str, Topic] = {}
        all_partitions: dict[str, list[int]] = {}
        for topic in self._ask(lambda: self._admin.describe_topics(wanted)):
            if topic["error_code"]:
                continue
            partitions = {part["partition_index"]: part["replica_nodes"] for part in topic["partitions"]}
            ends = self._read_ends(topic["name"], partitions) if with_ends else {}
            if ends is not None:
                found[topic["name"]] = Topic(ends, {p: _list_racks(nodes, racks) for p, nodes in sorted(partitions.items())})
                all_partitions[topic["name"]] = sorted(partitions)
        sizes = self._read_sizes(all_partitions) if with_ends else {}
        for (name, partition), size in sizes.items():
            found[name] = replace(found[name], sizes={**found[name].sizes, partition: size})
        return found, tuple(name for name in wanted if name not in found)

    def _read_sizes(self, partitions: Mapping[str, list[int]]) -> dict[tuple[str, int], int]:
        """Return (topic, partition) → bytes; empty without the right DESCRIBE on the cluster."""
        try:
            return self._ask(lambda: self._admin.run(self._admin.ask_for_sizes, partitions), KafkaError)
        except KafkaError:
            return {}

    def make_no_group_error(self, group: str) -> InputError:
        """Return the error for a group that does not exist."""
        names = self.list_groups()
        shown = ", ".join(names[:NAMED_GROUPS]) + (
            f" and {len(names) - NAMED_GROUPS} more" if len(names) > NAMED_GROUPS else ""
        )
        return InputError(
            "--group", "", f"{group!r}, which is no group of this cluster", shown or "a running application's application.id"
        )

    def _read_ends(self, topic: str, partitions: Iterable[int]) -> dict[int, int] | None:
        """Return partition → end offset, as Kafka Streams reads it; None if the user may not see it."""
        specs = {KafkaTopicPartition(topic, partition): OffsetSpec.LATEST for partition in partitions}
        try:
            offsets = self._ask(lambda: self._admin.list_partition_offsets(specs), AuthorizationError)
        except AuthorizationError:
            return None
        return {place.partition: found.offset for place, found in sorted(offsets.items())}

    def _ask(self, question: Callable[[], _Result], *expected: type[KafkaError]) -> _Result:
        try:
            return question()
        except expected:
            raise
        except (KafkaError, OSError, ValueError) as error:
            raise self._explain(error) from None

    def _explain(self, error: Exception, group: str = "") -> InputError:
        """Return the error in terms of the command line, with its remedy."""
        if isinstance(error, GroupAuthorizationFailedError):
            return InputError(
                "--group", "", f"{group!r}, which you may not describe", "a user with the right DESCRIBE on the group"
            )
        if isinstance(error, SaslAuthenticationFailedError):
            return InputError(
                "--command-config", "", f"that {self._servers} refuses this user ({_describe(error)})", "a known user"
            )
        if isinstance(error, AuthorizationError):
            return InputError(
                "--command-config", "", f"a user without rights ({_describe(error)})", "DESCRIBE on group and topics"
            )
        allowed = "brokers that answer; secured brokers need --command-config FILE"
        return InputError(_SERVER, "", f"{self._servers!r}, which does not answer ({_describe(error)})", allowed)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _list_racks(nodes: Iterable[int], racks: Mapping[int, str | None]) -> tuple[str, ...]:
    return tuple(sorted({rack for node in nodes if (rack := racks.get(node)) is not None}))
