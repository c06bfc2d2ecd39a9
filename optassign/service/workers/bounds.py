"""Bounds on a worker process: it ends with the service, within its job's time and its share of memory, even inside a
library."""

import os
import signal
import sys

__all__ = ["bind_to_parent", "limit_memory", "limit_time"]

_PR_SET_PDEATHSIG = 1


def bind_to_parent(parent: int) -> None:
    """Have the system kill this process once its parent is gone, also in the midst of a library. Linux only.

    On other systems a process ends when it next reads its pipe.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it went before we said so
        os._exit(1)


def limit_memory(most: int) -> None:
    """Limit the address space to `most` bytes: beyond it memory is refused, and the process fails alone. 0: no limit."""
    if not most:
        return
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    except (ImportError, OSError, ValueError):  # not on Windows; not on every macOS
        return


def limit_time(seconds: float | None) -> None:
    """Have the system end this process after `seconds` seconds, if it still runs; None: not any more."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # no handler: it works in the midst of a library as well
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else max(0.01, seconds))
