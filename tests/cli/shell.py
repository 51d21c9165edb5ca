"""The command in this process, with standard input and output as bytes."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

import pytest

from kwire.cli.main import main


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.decode().splitlines()


def run(patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str, stdin: bytes = b"") -> Outcome:
    """Runs `kwire ARGUMENTS`."""
    out = io.BytesIO()
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    patch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
    try:
        code = main(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    sys.stdout.flush()
    return Outcome(code, out.getvalue(), capsys.readouterr().err)
