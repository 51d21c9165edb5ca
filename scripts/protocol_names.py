"""Writes the lists of message names in src/kwire/protocol.py, which type checkers need and the registry knows: the
imports between the first marks, the names between the second.
"""

from __future__ import annotations

from pathlib import Path

from scripts.sources import PACKAGE, formatted, with_blocks

from kwire.schema.registry import APIS

PROTOCOL = PACKAGE / "protocol.py"


def wanted() -> dict[Path, str]:
    """The one file."""
    return {PROTOCOL: formatted(with_blocks(PROTOCOL.read_text(encoding="utf-8"), (imports(), names())), PROTOCOL)}


def imports() -> str:
    return "".join(
        f"    from {api.module_name} import {message.__name__} as {message.__name__}\n"
        for api in APIS.values()
        for message in (api.request, api.response)
    )


def names() -> str:
    found = sorted(message.__name__ for api in APIS.values() for message in (api.request, api.response))
    return "__all__ += [\n" + "".join(f'    "{name}",\n' for name in found) + "]\n"
