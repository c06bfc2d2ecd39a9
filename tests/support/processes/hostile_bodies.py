"""Bodies of requests that cost more than they weigh, each of about as many bytes as is said."""

from collections.abc import Callable


def repeat_names(size: int) -> bytes:
    """Names of fields, each once but the last."""
    count = size // 12
    return b"{" + b",".join(b'"n%07d":0' % i for i in range(count)) + b',"n0000000":0}'


def write_digits(size: int) -> bytes:
    """Runs of digits just too short to be found, then one too long to be converted."""
    run = b'"' + b"1" * 999 + b'"'
    return b"[" + b",".join([run] * (size // len(run))) + b"," + b"1" * 5000 + b"]"


def write_wrong_tasks(size: int) -> bytes:
    """Tasks of which each is wrong."""
    return b'{"format":1,"application":"a","configs":{},"clients":[{"process_id":"a","threads":1}],"tasks":[' + (
        b",".join([b"0"] * (size // 2)) + b"]}"
    )


def write_wrong_lags(size: int) -> bytes:
    """Lags of which each is wrong."""
    lags = b",".join(b'"0_%d":"x"' % i for i in range(size // 14))
    return (
        b'{"format":1,"application":"a","configs":{},"tasks":[{"id":"0_0","stateful":true}],'
        b'"clients":[{"process_id":"a","threads":1,"lags":{' + lags + b"}}]}"
    )


def write_wrong_consumers(size: int) -> bytes:
    """Consumers of which each is wrong."""
    consumers = b",".join(b'"%d":[0]' % i for i in range(size // 14))
    return (
        b'{"format":1,"application":"a","configs":{},"tasks":[{"id":"0_0","stateful":true}],'
        b'"clients":[{"process_id":"a","threads":1,"consumers":{' + consumers + b"}}]}"
    )


def write_infinite_extras(size: int) -> bytes:
    """Fields of other tools of which each is infinite."""
    extras = b",".join(b'"x_%d":1e999' % i for i in range(size // 18))
    return b'{"format":1,"application":"a","configs":{},"tasks":[],"clients":[{"process_id":"a","threads":1}],' + extras + b"}"


def nest_long_names(size: int, depth: int = 900) -> bytes:
    """Objects in each other, with long names, around a name that is there twice."""
    name = b'"' + b"n" * (size // depth) + b'":'
    return b"".join(b"{" + name for _ in range(depth)) + b'{"a":0,"a":0}' + b"}" * depth


def hide_application(size: int) -> bytes:
    """The application's name comes last."""
    return b'{"format":1,"x_before":[' + b",".join([b"[]"] * (size // 3)) + b'],"application":"late"}'


def fill_with_lists(size: int) -> bytes:
    """Empty lists, each of which takes many times its length in memory."""
    return b'{"format":1,"application":"a","x_lists":[' + b",".join([b"[]"] * (size // 3)) + b"]}"


BODIES: dict[str, Callable[[int], bytes]] = {
    "repeated names": repeat_names,
    "runs of digits": write_digits,
    "wrong tasks": write_wrong_tasks,
    "wrong lags": write_wrong_lags,
    "wrong consumers": write_wrong_consumers,
    "infinite extras": write_infinite_extras,
    "nested long names": nest_long_names,
    "application last": hide_application,
    "empty lists": fill_with_lists,
}
"""What it is -> the body, of about so many bytes."""
