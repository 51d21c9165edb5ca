"""Writes all that is generated from code: `make docs`, or `python -m scripts.generated`.

With --check it changes nothing and fails where something would change. Each writer is a script beside this one with a
function `wanted()`: the files that it is for, and the text that each should have.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from scripts.sources import ROOT

WRITERS = (
    "error_codes",
    "api_keys",
    "protocol_names",
    "client_options",
    "stub_docs",
    "asyncio_calls",
    "lifecycles",
    "settings_page",
    "limits_page",
    "shell_page",
    "metrics_page",
    "migration_pages",
    "reference_pages",
    "drawings",
    "grafana_dashboard",
    "files_page",
)
"""In this order, since code that a later one imports may need what an earlier one writes."""


def stale(writer: str) -> dict[Path, str]:
    """The writer's files that do not have the text that they should have, with that text."""
    wanted: dict[Path, str] = import_module(f"scripts.{writer}").wanted()
    return {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }


def main(arguments: list[str]) -> int:
    found = 0
    for writer in WRITERS:
        for path, text in stale(writer).items():
            found += 1
            if "--check" in arguments:
                print(f"{path.relative_to(ROOT)} is not what scripts/{writer}.py makes it: run `make docs`")
            else:
                path.write_text(text, encoding="utf-8")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
