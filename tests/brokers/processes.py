"""One child process with its log, that dies with the thread that started it and is ended by its own process id.

Start children from the main thread: the kernel's parent-death signal follows the thread, not the process.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.brokers.failures import log_tail

JVM_FLAGS = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")

_STOPPED_WITHIN_S = 30.0

_DIE_WITH_PARENT = Path(__file__).with_name("die_with_parent.py")


def dying_with_parent(command: Sequence[str]) -> list[str]:
    """The command that runs `command` (its first word a path) so that the kernel ends it with the starting thread."""
    return [sys.executable, "-I", "-S", str(_DIE_WITH_PARENT), str(os.getpid()), *command]


class Child:
    """A running program whose standard output and error go to one log file."""

    def __init__(self, name: str, command: Sequence[str], log: Path, cwd: Path) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                dying_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                cwd=cwd,
            )

    @property
    def pid(self) -> int:
        """The process id; valid until `kill`."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None as long as it runs."""
        return self._process.poll()

    def wait(self, timeout: float) -> int | None:
        """Its exit code, None when it still runs after so many seconds."""
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def tail(self) -> str:
        """The end of its log."""
        return log_tail(self.log)

    def pause(self) -> None:
        """SIGSTOP: connections stay open and nothing is answered, once this returns."""
        os.kill(self.pid, signal.SIGSTOP)
        deadline = time.monotonic() + _STOPPED_WITHIN_S
        # The signal is one of the process, and a busy machine stops its threads one after the other.
        while not all(state in "TtZ" for state in _thread_states(self.pid)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"process {self.pid} still runs {_STOPPED_WITHIN_S:g} s after SIGSTOP")
            time.sleep(0.005)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: nothing on disk is kept, so there is nothing to shut down in order."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(timeout=30)


def _thread_states(pid: int) -> list[str]:
    """The state of each thread as /proc has it, T for a stopped one; nothing where there is no /proc."""
    # The name of a thread stands in brackets before its state, and may hold blanks and brackets itself.
    return [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
