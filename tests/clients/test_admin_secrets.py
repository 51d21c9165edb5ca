"""Passwords, HMACs and configs given to an Admin are in no frame of an error that leaves it, whatever the error is."""

from __future__ import annotations

import asyncio
import traceback
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from kwire import Admin, aio
from kwire.errors import BrokerError, ConfigError, ConnectError, KafkaTimeoutError
from kwire.testing import Broker
from tests.each import each

HUSH = "hush-5f1c"
HMAC = b"\x17" + HUSH.encode()
TOPIC = ("topic", "missing")
Call = Callable[[Any], Any]

GOOD: list[Call] = [
    lambda a: a.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": HUSH}}, timeout=0),
    lambda a: a.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": {"password": HUSH}}}, timeout=0),
    lambda a: a.renew_delegation_token(HMAC, timeout=0),
    lambda a: a.renew_delegation_token(b64encode(HMAC).decode(), timeout=0),
    lambda a: a.expire_delegation_token(HMAC, timeout=0),
    lambda a: a.incremental_alter_configs({TOPIC: {"x": HUSH}}, timeout=0),
    lambda a: a.alter_configs({TOPIC: {"x": HUSH}}, timeout=0),
]
REFUSED_HERE: list[Call] = [
    lambda a: a.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": HUSH}}, timeout="soon"),
    lambda a: a.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": {"password": HUSH, "iterations": 1}}}),
    lambda a: a.alter_user_scram_credentials({"bob": {HUSH: HUSH}}),
    lambda a: a.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": HUSH.encode()}}),
    lambda a: a.renew_delegation_token(HUSH),
    lambda a: a.renew_delegation_token(HMAC, renew_time_period_ms=-2),
    lambda a: a.expire_delegation_token([HMAC]),
    lambda a: a.incremental_alter_configs({TOPIC: {"x": {HUSH: HUSH}}}),
    lambda a: a.incremental_alter_configs({TOPIC: {"x": ("set", {HUSH})}}),
    lambda a: a.alter_configs({TOPIC: {"x": {HUSH: HUSH}}}),
]
REFUSED_THERE: list[Call] = [
    lambda a: a.renew_delegation_token(HMAC),
    lambda a: a.incremental_alter_configs({TOPIC: {"x": HUSH}}),
    lambda a: a.alter_configs({TOPIC: {"x": HUSH}}),
]
NO_ANSWER = (ConnectError, KafkaTimeoutError)


def locals_of(error: BaseException) -> str:
    """Everything that is in the frames of an error and in those of its causes, those of this file left out."""
    shown = [str(error), repr(error)]
    link: BaseException | None = error
    while link is not None:
        for frame, _ in traceback.walk_tb(link.__traceback__):
            if frame.f_code.co_filename != __file__:
                shown += [f"{name}={value!r}" for name, value in frame.f_locals.items()]
        link = link.__cause__ or link.__context__
    return "\n".join(shown)


def assert_hidden(error: BaseException) -> None:
    shown = locals_of(error)
    assert HUSH not in shown
    assert b64encode(HMAC).decode() not in shown


@each("call", GOOD)
def test_a_call_without_an_answer_keeps_its_secrets(call: Call) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(NO_ANSWER) as caught:
        call(admin)
    assert_hidden(caught.value)
    assert "result_of" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


@each("call", REFUSED_HERE)
def test_a_refused_argument_keeps_its_secrets(call: Call) -> None:
    with Admin("127.0.0.1:1") as admin, pytest.raises(ConfigError) as caught:
        call(admin)
    assert_hidden(caught.value)


def test_what_a_broker_refuses_keeps_its_secrets() -> None:
    with Broker() as broker, Admin(broker.bootstrap_servers) as admin:
        for call in REFUSED_THERE:
            with pytest.raises(BrokerError) as caught:
                call(admin)
            assert_hidden(caught.value)


def test_coroutines_keep_their_secrets() -> None:
    async def refused(call: Call, admin: aio.Admin) -> BaseException:
        with pytest.raises((ConfigError, *NO_ANSWER)) as caught:
            await call(admin)
        return caught.value

    async def cancelled(admin: aio.Admin) -> BaseException:
        task = asyncio.create_task(admin.alter_user_scram_credentials({"bob": {"SCRAM-SHA-256": HUSH}}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value

    async def all_of_them() -> list[BaseException]:
        async with aio.Admin("127.0.0.1:1") as admin:
            return [*[await refused(call, admin) for call in (*GOOD, *REFUSED_HERE)], await cancelled(admin)]

    for error in asyncio.run(all_of_them()):
        assert_hidden(error)


def test_an_error_that_was_handled_before_the_call_keeps_its_frames() -> None:
    def fails(where: str) -> None:
        raise KeyError(where)

    with Admin("127.0.0.1:1") as admin:
        try:
            fails("here")
        except KeyError as earlier:
            with pytest.raises(NO_ANSWER):
                GOOD[0](admin)
            innermost = list(traceback.walk_tb(earlier.__traceback__))[-1][0]
            assert innermost.f_locals == {"where": "here"}
