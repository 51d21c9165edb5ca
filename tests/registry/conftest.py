from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.registry.server import RegistryServer, serving


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with serving() as found:
        yield found
