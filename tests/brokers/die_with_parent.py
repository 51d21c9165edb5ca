"""Becomes another program that the kernel kills once the thread that started it is gone (Linux; elsewhere only exec).

    python -I -S die_with_parent.py PARENT_PID PROGRAM [ARGUMENT ...]

A program of its own instead of a `preexec_fn`, because Python code between fork and exec can deadlock in a process
that has threads, and a test session has. The setting outlives the exec: prctl(2), PR_SET_PDEATHSIG.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Does not return."""
    if sys.platform == "linux":
        if ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            sys.exit("prctl(PR_SET_PDEATHSIG) failed")
        if os.getppid() != parent:
            sys.exit("the parent is gone already")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
