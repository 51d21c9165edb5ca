"""A headless chromium that tests of the site drive, by the DevTools protocol over two pipes."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any, Self


class Chromium:
    """One browser with one page. It reads commands from descriptor 3 and writes to 4, each ended by a NUL byte."""

    def __init__(self, program: str, profile: Path) -> None:
        read_end, self._commands = os.pipe()
        self._answers, write_end = os.pipe()
        placed = ["bash", "-c", f'exec "$@" 3<&{read_end} 4>&{write_end}', "bash"]
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            f"--user-data-dir={profile}",
        ]
        self._process = subprocess.Popen(
            [*placed, program, *options, "about:blank"],
            pass_fds=(read_end, write_end),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        self._received = b""
        self._number = 0
        self._session: str | None = None
        page = next(each for each in self.call("Target.getTargets")["targetInfos"] if each["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(10)
        os.close(self._commands)
        os.close(self._answers)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a method of the protocol; events meanwhile are dropped."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            message = self._next_message()
            if message.get("id") == self._number:
                assert "error" not in message, message["error"]
                found: dict[str, Any] = message["result"]
                return found

    def _next_message(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            taken = os.read(self._answers, 1 << 20)
            assert taken, "chromium has ended"
            self._received += taken
        one, _, self._received = self._received.partition(b"\0")
        message: dict[str, Any] = json.loads(one)
        return message

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def run_until(self, script: str, within_s: float = 20.0) -> Any:
        """The value of an expression as soon as it is true."""
        end = time.monotonic() + within_s
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"not in {within_s} s: {script}"
            time.sleep(0.02)
        return value

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)
        self.run_until(f"location.href === {json.dumps(url)} && document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=True)

    def prefer(self, scheme: str) -> None:
        """As a system set to light or dark does."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
