"""The core of a client, with what only a driver can supply: randomness, and where tokens come from.

Layer 4. The reactor, or whatever drives the core, supplies `run_apart`.
"""

from __future__ import annotations

from time import time

from kwire.drivers.randomness import random_fraction
from kwire.engine.core import Core
from kwire.engine.settings.clients import ClientSettings


def make_core(settings: ClientSettings) -> Core:
    """The core of one client; raises ConfigError where its settings name files that cannot be used."""
    core = Core(settings, random_fraction)
    core.wall_clock = time
    if core.login is not None:
        from kwire.drivers.token_source import token_source

        core.login.tokens.source = token_source(settings)
    return core
