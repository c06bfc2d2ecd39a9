"""What keeps a worker process from outliving the service, its job's time and its share of memory, whatever it is doing."""

import os
import signal
import sys

__all__ = ["bind_to_parent", "limit_memory", "limit_time"]

_PR_SET_PDEATHSIG = 1


def bind_to_parent(parent: int) -> None:
    """Have the system kill this process once its parent is gone, also in the midst of a library. Linux only.

    Elsewhere a process ends when it next looks at its pipe.
    """
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it went before we said so
        os._exit(1)


def limit_memory(most: int) -> None:
    """At most so many bytes of address space: beyond it memory is refused, and the process fails alone. 0: no limit."""
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
    """Have the system end this process after so many seconds, if nobody does it before; None: not any more."""
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # no handler: it works in the midst of a library as well
        signal.setitimer(signal.ITIMER_REAL, 0.0 if seconds is None else max(0.01, seconds))
