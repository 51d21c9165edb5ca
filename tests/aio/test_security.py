"""`kwire.aio` over TLS and with logins, against the embedded broker."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kwire import aio, errors
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.timing import PATIENT

DOORS: list[dict[str, Any]] = [
    {"tls": True},
    {"users": {"alice": "secret"}},
    {"users": {"alice": "secret"}, "tls": True},
]


@pytest.mark.parametrize("door", DOORS, ids=str)
def test_records_go_out_and_come_back(run: Run, door: dict[str, Any]) -> None:
    async def main(broker: Broker) -> None:
        settings = broker.client_settings
        sent = [b"%d" % number * 200 for number in range(3000)]
        async with aio.Producer(broker.bootstrap_servers, **settings) as producer:
            deliveries = producer.send_many("t", sent)
            assert (await deliveries[0]).offset == 0
            await producer.flush()
            assert deliveries[-1].result().offset == 2999
        async with aio.Consumer(broker.bootstrap_servers, auto_offset_reset="earliest", **settings) as consumer:
            consumer.subscribe(["t"])
            read: list[bytes | None] = []
            async for record in consumer:
                read.append(record.value)
                if len(read) == len(sent):
                    break
            assert read == sent
        async with aio.Admin(broker.bootstrap_servers, **settings) as admin:
            assert await admin.list_topics() == ["t"]

    with Broker(topics={"t": 1}, **door) as broker:
        run(main(broker))


def test_a_large_record_goes_through_a_full_socket(run: Run) -> None:
    async def main(broker: Broker) -> None:
        settings = {**broker.client_settings, "send_buffer_bytes": 8192, "max_request_size": 1 << 24}
        value = bytes(range(256)) * 32768
        async with aio.Producer(broker.bootstrap_servers, **settings) as producer:
            assert (await producer.send("t", value)).offset == 0
        async with aio.Consumer(
            broker.bootstrap_servers, auto_offset_reset="earliest", **broker.client_settings
        ) as consumer:
            consumer.subscribe(["t"])
            assert (await consumer.poll(timeout=PATIENT)).values() == [value]

    for tls in (False, True):
        with Broker(topics={"t": 1}, tls=tls, max_message_bytes=1 << 24) as broker:
            run(main(broker))


def test_a_wrong_password_is_said_at_once(run: Run) -> None:
    async def main(broker: Broker) -> None:
        settings = {**broker.client_settings, "sasl_password": "wrong"}
        async with aio.Admin(broker.bootstrap_servers, **settings) as admin:
            with pytest.raises(errors.AuthError):
                await admin.list_topics(timeout=PATIENT)
        async with aio.Consumer(broker.bootstrap_servers, **settings) as consumer:
            consumer.subscribe(["t"])
            with pytest.raises(errors.AuthError):
                await asyncio.wait_for(consumer.poll(timeout=PATIENT), PATIENT)

    with Broker(topics={"t": 1}, users={"alice": "secret"}) as broker:
        run(main(broker))


def test_a_certificate_that_is_not_trusted_is_said_at_once(run: Run) -> None:
    async def main(broker: Broker) -> None:
        async with aio.Admin(broker.bootstrap_servers, security_protocol="SSL") as admin:
            with pytest.raises(errors.AuthError, match="certificate"):
                await admin.list_topics(timeout=PATIENT)

    with Broker(topics={"t": 1}, tls=True) as broker:
        run(main(broker))


def tokens_of(broker: Broker) -> tuple[Any, dict[str, Any]]:
    """The source of tokens that are accepted, and the other settings."""
    settings = dict(broker.client_settings)
    return settings.pop("sasl_oauth_token"), settings


def test_a_source_of_tokens_that_never_returns_does_not_hold_up_the_end_of_the_loop(run: Run) -> None:
    go_on, returned = threading.Event(), threading.Event()

    def source() -> None:
        go_on.wait(PATIENT)
        returned.set()

    async def main(broker: Broker) -> None:
        _, settings = tokens_of(broker)
        async with aio.Admin(broker.bootstrap_servers, sasl_oauth_token=source, **settings) as admin:
            with pytest.raises(errors.KafkaTimeoutError):
                await admin.list_topics(timeout=0.3)

    with Broker(users={"alice": "secret"}, mechanisms=["OAUTHBEARER"]) as broker:
        run(main(broker))
    assert not returned.is_set()
    go_on.set()


def test_a_call_for_a_token_that_is_cancelled_is_made_again(run: Run) -> None:
    async def main(broker: Broker) -> None:
        good, settings = tokens_of(broker)
        calls: list[asyncio.Task[Any] | None] = []

        async def source() -> Any:
            calls.append(asyncio.current_task())
            if len(calls) == 1:
                await asyncio.sleep(60)
            return good()

        async with aio.Admin(broker.bootstrap_servers, sasl_oauth_token=source, **settings) as admin:
            listed = asyncio.ensure_future(admin.list_topics(timeout=PATIENT))
            while not calls:
                await asyncio.sleep(0.01)
            assert calls[0] is not None
            calls[0].cancel()
            assert await listed == ["t"]

    with Broker(users={"alice": "secret"}, mechanisms=["OAUTHBEARER"], topics=["t"]) as broker:
        run(main(broker))


def test_a_password_is_asked_for_on_the_loop_at_each_login(run: Run) -> None:
    passwords = ["first-secret"]

    async def credentials() -> tuple[str, str]:
        await asyncio.sleep(0)
        return "alice", passwords[-1]

    async def main(broker: Broker) -> None:
        given = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "SCRAM-SHA-512"}
        async with (
            aio.Producer(broker.bootstrap_servers, linger_ms=0, sasl_credentials=credentials, **given) as producer,
            aio.Admin(broker.bootstrap_servers, **broker.client_settings) as admin,
        ):
            offsets = [(await producer.send("t", b"x")).offset]
            await admin.alter_user_scram_credentials({"alice": {"SCRAM-SHA-512": "second-secret"}})
            loop = asyncio.get_running_loop()
            loop.call_later(1.0, passwords.append, "second-secret")
            end = loop.time() + 2.5
            while loop.time() < end:
                offsets.append((await producer.send("t", b"x")).offset)
            assert offsets == list(range(len(offsets)))

    users = {"bob": "secret", "alice": passwords[0]}
    with Broker(users=users, mechanisms=["SCRAM-SHA-512"], max_reauth_ms=1_200, topics={"t": 1}) as broker:
        run(main(broker))


@pytest.mark.parametrize("raised", [ValueError("boom"), StopIteration(), SystemExit(3)], ids=repr)
def test_what_a_source_of_tokens_raises_is_an_error_of_the_login(run: Run, raised: BaseException) -> None:
    def source() -> None:
        raise raised

    async def main(broker: Broker) -> None:
        _, settings = tokens_of(broker)
        async with aio.Admin(broker.bootstrap_servers, sasl_oauth_token=source, **settings) as admin:
            with pytest.raises(errors.AuthError, match="the token of sasl_oauth_token"):
                await admin.list_topics(timeout=PATIENT)

    with Broker(users={"alice": "secret"}, mechanisms=["OAUTHBEARER"]) as broker:
        run(main(broker))
