"""The producer of this process.

It is made when it is first asked for, so that commands that send nothing have none, and once in each process: one that
was inherited by a fork, of gunicorn's master for instance, is forgotten. What it still has when the process ends is
delivered then.
"""

import os
from functools import cache

from django.conf import settings

from kwire import Producer


@cache
def producer() -> Producer:
    """Any thread may use it. Threads that ask for the first one at the same moment may get one each: that does no harm,
    since one that is dropped delivers what it has."""
    return Producer(
        settings.KAFKA_BOOTSTRAP_SERVERS,
        client_id="shop",
        key_serializer="string",
        value_serializer="json",
        linger_ms=20,
    )


os.register_at_fork(after_in_child=producer.cache_clear)
