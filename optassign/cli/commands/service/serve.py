"""`optassign serve`: the service behind the plug-in."""

import argparse
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from optassign.cli.arguments import accept_durations, accept_integers, add_register, register_listed_assignors
from optassign.cli.common import check_assignor
from optassign.cli.output import DONE, UsageError
from optassign_models.policy.constants import IDLE_FOLLOWUP_MS

if TYPE_CHECKING:
    from optassign.service.settings import Settings

ABOUT = "Run the service that assigns tasks for the plug-in"
EXAMPLE = "serve --recordings /var/lib/optassign\nserve --demo"


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of `serve`; the defaults are those of `optassign.service.settings`."""
    add = parser.add_argument
    add(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="listen on this address (default: %(default)s; others need a token and TLS)",
    )
    add(
        "--port",
        type=accept_integers(0, 65535),
        default=8924,
        metavar="N",
        help="listen on this port (default: %(default)s; 0: any free one)",
    )
    add(
        "--workers",
        type=accept_integers(1, 256),
        metavar="N",
        help="solve in this many processes (default: one per processor, 2 to 4)",
    )
    add(
        "--assignor",
        default="cp-sat",
        metavar="NAME",
        help="assign by this assignor (default: %(default)s); active plug-ins refuse one that does not promise R1 to R6",
    )
    add_register(parser)
    add(
        "--default-deadline",
        type=accept_durations("above 0, at most 60", lambda seconds: 0 < seconds <= 60),
        default=5.0,
        metavar="TIME",
        help="deadline of requests without one (default: 5)",
    )
    add(
        "--idle-followup",
        type=accept_durations("0, or from 1 to 1000000", lambda seconds: seconds == 0 or 1 <= seconds <= 1e6),
        default=IDLE_FOLLOWUP_MS / 1000,
        metavar="TIME",
        help="have a group at rest rebalance so often that a drain or a resume takes effect; optassign.idle.followup.ms of an"
        f" application goes before it (default: {IDLE_FOLLOWUP_MS / 1000:g}; 0: never; plug-ins"
        " space out those below 60)",
    )
    add("--check", action="store_true", help="check and print the settings, and end; exit code 2 if they are wrong")
    add("--log-format", choices=("json", "text"), default="text", help="format of the log on standard error (default: text)")
    add = parser.add_argument_group("recordings").add_argument
    add("--recordings", metavar="DIR", help="record every rebalance in this folder, and remember assignments across restarts")
    add("--demo", action="store_true", help="fill the web console with a day of simulated rebalances, in a temporary folder")
    add("--keep-days", type=_parse_positive, default=90.0, metavar="N", help="keep recordings this long (default: 90)")
    add("--keep-bytes", type=_parse_bytes, default=10 << 30, metavar="N", help="keep this much, such as 500M (default: 10G)")
    add("--applications", metavar="FILE", help="read quiet hours and limits of applications from this TOML file")
    add = parser.add_argument_group("web console").add_argument
    add("--runbook", type=_parse_address, metavar="URL", help="link statuses to your copy of the runbook")
    add("--grafana", type=_parse_address, metavar="URL", help="link each application to this dashboard in Grafana")
    add = parser.add_argument_group("safety").add_argument
    add(
        "--token-file",
        metavar="FILE",
        help="read the tokens of plug-ins and operators here (default: $OPTASSIGN_TOKEN)",
    )
    add("--tls-cert", metavar="FILE", help="certificate chain, PEM")
    add("--tls-key", metavar="FILE", help="its private key, PEM")
    add("--tls-client-ca", metavar="FILE", help="accept only clients with a certificate of these authorities, PEM")
    add("--behind-proxy", action="store_true", help="listen without TLS, because a proxy does it")
    add = parser.add_argument_group("limits").add_argument
    add("--max-body", type=_parse_bytes, default=64 << 20, metavar="N", help="bytes of a body, inflated (default: 64M)")
    add("--max-cells", type=accept_integers(1), default=100_000_000, metavar="N", help="tasks × clients (default: 100,000,000)")
    add("--max-name", type=accept_integers(1), default=255, metavar="N", help="characters of a name (default: %(default)s)")
    add("--max-connections", type=accept_integers(1), default=512, metavar="N", help="connections (default: %(default)s)")
    add(
        "--max-connections-per-peer",
        type=accept_integers(1),
        metavar="N",
        help="connections from one address (default: 128; with --behind-proxy the value of --max-connections)",
    )
    add("--max-held", type=_parse_bytes, default=256 << 20, metavar="N", help="bytes of all bodies above 1M (default: 256M)")
    add(
        "--max-worker-memory",
        type=_parse_bytes,
        default=4 << 30,
        metavar="N",
        help="address space of a worker (default: 4G)",
    )
    add(
        "--max-applications",
        type=accept_integers(1),
        default=256,
        metavar="N",
        help="applications whose answers are remembered (default: %(default)s)",
    )


def run(arguments: Namespace) -> int:
    """Serve until a signal, or print the checked settings. UsageError for bad settings, or without the extra `service`."""
    try:
        from optassign.service.server import check, serve
        from optassign.service.settings import SettingsError
    except ModuleNotFoundError as error:
        raise UsageError(f"it needs {error.name}, which is not installed: pip install 'optassign[service]'") from None
    try:
        if arguments.check:
            print(*check(make_settings(arguments)), sep="\n")
            return DONE
        return serve(make_settings(arguments))
    except SettingsError as error:
        raise UsageError(str(error)) from None


def make_settings(arguments: Namespace) -> "Settings":
    """Return the service's settings, and register the user's assignors. UsageError for contradictory arguments."""
    from pathlib import Path

    from optassign.service.settings import Limits, Settings, count_default_workers

    def as_path(text: str | None) -> Path | None:
        return None if text is None else Path(text)

    if arguments.demo and arguments.recordings is not None:
        raise UsageError("found --demo with --recordings; allowed: one of them, as a demonstration has recordings of its own")
    registered = register_listed_assignors(arguments)
    check_assignor(arguments.assignor)
    return Settings(
        host=arguments.host,
        port=arguments.port,
        workers=arguments.workers or count_default_workers(),
        assignor=arguments.assignor,
        registered=registered,
        default_deadline=arguments.default_deadline,
        idle_followup=arguments.idle_followup,
        recordings=as_path(arguments.recordings),
        keep_days=arguments.keep_days,
        keep_bytes=arguments.keep_bytes,
        applications_file=as_path(arguments.applications),
        token_file=as_path(arguments.token_file),
        tls_cert=as_path(arguments.tls_cert),
        tls_key=as_path(arguments.tls_key),
        tls_client_ca=as_path(arguments.tls_client_ca),
        behind_proxy=arguments.behind_proxy,
        log_format=arguments.log_format,
        runbook=arguments.runbook or "",
        grafana=arguments.grafana or "",
        demo=arguments.demo,
        limits=Limits(
            body_bytes=arguments.max_body,
            cells=arguments.max_cells,
            name_length=arguments.max_name,
            connections=arguments.max_connections,
            connections_per_peer=arguments.max_connections_per_peer
            or (arguments.max_connections if arguments.behind_proxy else 128),
            held_bytes=max(arguments.max_held, arguments.max_body),
            worker_bytes=arguments.max_worker_memory,
            applications=arguments.max_applications,
        ),
    )


def _parse_positive(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"found {text}; allowed: above 0, at most 1000000")
    return value


def _parse_address(text: str) -> str:
    if not text.startswith(("http://", "https://")) or not text.isprintable() or "#" in text or "?" in text:
        raise argparse.ArgumentTypeError(
            f"found {text!r}; allowed: an address that begins with http:// or https://, without ? or #"
        )
    return text


def _parse_bytes(text: str) -> int:
    """Return bytes, from a number with an optional K, M, G or T, which are powers of 1,024."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    shift = units.get(text[-1:].upper(), 0)
    digits = text[:-1] if shift else text
    if not (digits.isascii() and digits.isdigit()) or not int(digits):
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: bytes above 0, or with K, M, G or T")
    return int(digits) << shift


_parse_positive.__name__ = "number"  # argparse puts it into its message: invalid number value
