"""Tests on asyncio: the same fixtures in an `async def`, here by the pytest plugin of anyio, which comes with FastAPI
and httpx; with pytest-asyncio write `@pytest.mark.asyncio` instead.
"""

import pytest
from billing import place

from kwire import aio
from kwire.testing import Broker

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_orders_are_placed_one_after_the_other(kwire_session_broker: Broker, kwire_topic: str) -> None:
    async with aio.Producer(kwire_session_broker.bootstrap_servers) as producer:
        offsets = await place(producer, kwire_topic, [{"number": 1}, {"number": 2}])
    assert offsets == [0, 1]
    assert kwire_session_broker.values(kwire_topic) == [b'{"number": 1}', b'{"number": 2}']


async def test_an_order_waits_for_a_broker_that_restarts(kwire_broker: Broker) -> None:
    kwire_broker.create_topic("orders")
    async with aio.Producer(kwire_broker.bootstrap_servers) as producer:
        await place(producer, "orders", [{"number": 1}])
        kwire_broker.kill(1)
        delivery = producer.send("orders", b'{"number": 2}')
        kwire_broker.revive(1)
        assert (await delivery).offset == 1
