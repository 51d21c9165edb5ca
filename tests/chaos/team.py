"""The processes of `clients.py`: started, started again after their death, stopped, and told to end."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.brokers.processes import Child
from tests.chaos.clients import AGAIN
from tests.chaos.history import History
from tests.chaos.schedule import Client

_ROOT = Path(__file__).parents[2]
_TAIL = 1500


class Team:
    """The clients of a schedule, and their `way` to the cluster. Topics, groups and transactional ids get `suffix`, so
    that runs do not meet."""

    def __init__(
        self,
        clients: Iterable[Client],
        way: Mapping[str, str],
        seed: int,
        suffix: str,
        history: History,
        folder: Path,
    ) -> None:
        self._clients = {client.name: client for client in clients}
        self._common = {**way, "seed": seed}
        self._suffix = suffix
        self._history = history
        self._folder = folder
        self._running: dict[str, Child] = {}
        self._incarnations = dict.fromkeys(self._clients, 0)
        self._stopped: dict[str, float] = {}
        self._told: set[str] = set()

    def named(self, name: str) -> str:
        """A topic or group as it is called in this run."""
        return f"{name}-{self._suffix}"

    def reads(self, name: str) -> tuple[str, str]:
        """A client's group and topic."""
        given = self._clients[name].given
        return self.named(given["group"]), self.named(given["topic"])

    def keep_running(self) -> None:
        """Starts those that do not run, unless they were told to end."""
        for name in self._clients:
            child = self._running.get(name)
            if child is not None and child.exit_code is not None:
                self._note_exit(name)
            if name not in self._running and name not in self._told:
                self._start(name)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        if (child := self._running.pop(name, None)) is not None:
            self.resume(name)
            child.kill()
            self._history.note("killed", client=self._who(name))

    def stop(self, name: str) -> None:
        """SIGSTOP."""
        child = self._running.get(name)
        if child is not None and child.exit_code is None:
            self._stopped.setdefault(name, time.monotonic())
            child.pause()

    def resume(self, name: str) -> None:
        """SIGCONT."""
        since = self._stopped.pop(name, None)
        if since is not None:
            if (child := self._running.get(name)) is not None and child.exit_code is None:
                child.resume()
            self._history.note("stopped", client=self._who(name), since=since, until=time.monotonic())

    def end(self, roles: Iterable[str], within: float) -> None:
        """Tells clients to end in order, and kills those that do not."""
        ending = [name for name, client in self._clients.items() if client.role in roles]
        for name in ending:
            self._told.add(name)
            self.resume(name)
            if name in self._running:
                os.kill(self._running[name].pid, signal.SIGTERM)
        deadline = time.monotonic() + within
        for name in ending:
            if name in self._running:
                if self._running[name].wait(max(deadline - time.monotonic(), 0.1)) is None:
                    self.kill(name)
                else:
                    self._note_exit(name)

    def close(self) -> None:
        """Kills what still runs."""
        for name in list(self._running):
            self.kill(name)

    def _who(self, name: str) -> str:
        return f"{name}.{self._incarnations[name]}"

    def _start(self, name: str) -> None:
        self._incarnations[name] += 1
        client, who = self._clients[name], self._who(name)
        renamed = {key: self.named(value) for key, value in client.given.items() if key in ("topic", "target", "group")}
        given = {
            **self._common,
            **client.given,
            **renamed,
            **({"transactional": self.named(name)} if client.role in ("transactor", "copier") else {}),
            "role": client.role,
            "form": client.form,
            "name": name,
            "who": who,
            "history": str(self._folder / f"{who}.jsonl"),
        }
        command = [sys.executable, "-m", "tests.chaos.clients", json.dumps(given)]
        self._running[name] = Child(name, command, self._folder / f"{who}.log", _ROOT)

    def _note_exit(self, name: str) -> None:
        child = self._running.pop(name)
        tail = "" if child.exit_code in (0, AGAIN) else child.log.read_text(errors="replace")[-_TAIL:]
        self._history.note("exited", client=self._who(name), code=child.exit_code, tail=tail)
