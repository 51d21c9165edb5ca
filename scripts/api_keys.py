"""Makes src/kwire/schema/api_keys.py, the numbers of the APIs by Kafka's names, of the registry."""

from __future__ import annotations

from pathlib import Path

from scripts.sources import PACKAGE

from kwire.schema.registry import APIS, Api

KEYS = PACKAGE / "schema" / "api_keys.py"

HEAD = '''"""The API keys by Kafka's names, generated from `registry.py` by `make docs`.

Layer 2: numbers only.
"""
'''


def wanted() -> dict[Path, str]:
    """The one file."""
    return {KEYS: HEAD + "\n" + "".join(f"{constant(api)} = {api.key}\n" for api in APIS.values())}


def constant(api: Api) -> str:
    """Kafka's name of the key, as the name of the API's file has it."""
    return api.module_name.partition("_")[2].upper()
