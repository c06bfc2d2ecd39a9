"""Bodies of requests that cost more than their size suggests; each function takes the approximate size in bytes."""

from collections.abc import Callable


def repeat_names(size: int) -> bytes:
    """Return a body with unique names of fields, except for the repeated last one."""
    count = size // 12
    return b"{" + b",".join(b'"n%07d":0' % i for i in range(count)) + b',"n0000000":0}'


def write_digits(size: int) -> bytes:
    """Return a body with runs of digits just too short to be detected, then one too long to be converted."""
    run = b'"' + b"1" * 999 + b'"'
    return b"[" + b",".join([run] * (size // len(run))) + b"," + b"1" * 5000 + b"]"


def write_wrong_tasks(size: int) -> bytes:
    """Return a body in which every task is invalid."""
    return b'{"format":1,"application":"a","configs":{},"clients":[{"process_id":"a","threads":1}],"tasks":[' + (
        b",".join([b"0"] * (size // 2)) + b"]}"
    )


def write_wrong_lags(size: int) -> bytes:
    """Return a body in which every lag is invalid."""
    lags = b",".join(b'"0_%d":"x"' % i for i in range(size // 14))
    return (
        b'{"format":1,"application":"a","configs":{},"tasks":[{"id":"0_0","stateful":true}],'
        b'"clients":[{"process_id":"a","threads":1,"lags":{' + lags + b"}}]}"
    )


def write_wrong_consumers(size: int) -> bytes:
    """Return a body in which every consumer is invalid."""
    consumers = b",".join(b'"%d":[0]' % i for i in range(size // 14))
    return (
        b'{"format":1,"application":"a","configs":{},"tasks":[{"id":"0_0","stateful":true}],'
        b'"clients":[{"process_id":"a","threads":1,"consumers":{' + consumers + b"}}]}"
    )


def write_infinite_extras(size: int) -> bytes:
    """Return a body in which every extension field (`x_…`) is infinite."""
    extras = b",".join(b'"x_%d":1e999' % i for i in range(size // 18))
    return b'{"format":1,"application":"a","configs":{},"tasks":[],"clients":[{"process_id":"a","threads":1}],' + extras + b"}"


def nest_long_names(size: int, depth: int = 900) -> bytes:
    """Return nested objects with long names, around an object with a repeated name."""
    name = b'"' + b"n" * (size // depth) + b'":'
    return b"".join(b"{" + name for _ in range(depth)) + b'{"a":0,"a":0}' + b"}" * depth


def hide_application(size: int) -> bytes:
    """Return a body with the application's name at the end."""
    return b'{"format":1,"x_before":[' + b",".join([b"[]"] * (size // 3)) + b'],"application":"late"}'


def fill_with_lists(size: int) -> bytes:
    """Return a body with empty lists, each of which takes many times its length in memory."""
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
"""Description → function that returns the body of about the given size."""
