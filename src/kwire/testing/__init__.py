"""`kwire.testing`: an embedded Kafka broker, with faults on demand, and its pytest fixtures.

Layer 6: stands on the codec and the schema, imports no client. The names are loaded when they are first used, so that
pytest, which imports the fixtures wherever kwire is installed, starts as fast as before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kwire.testing.broker import Broker as Broker
    from kwire.testing.certificates import Certificates as Certificates
    from kwire.testing.clock import Clock as Clock
    from kwire.testing.faults import Faults as Faults

__all__ = ["Broker", "Certificates", "Clock", "Faults"]

if not TYPE_CHECKING:
    _HOMES = {
        "Broker": "kwire.testing.broker",
        "Certificates": "kwire.testing.certificates",
        "Clock": "kwire.testing.clock",
        "Faults": "kwire.testing.faults",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOMES})
