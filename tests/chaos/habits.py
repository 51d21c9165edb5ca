"""What some clients do now and then beside their work: leave their group and come back, or fork.

A child uses the copies of its parent's client, or makes one of its own, and ends; whatever it does, the parent's go on.
"""

import asyncio
import gc
import inspect
import os
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import kwire
from kwire.errors import ClientClosedError, KafkaError

if TYPE_CHECKING:
    from tests.chaos.clients import Program

LEAVES_WITHIN_S = 60.0
"""default_api_timeout_ms."""
CHILD_S = 20
_SHARE = 0.03
"""Of the times that a habit may come over a client."""


async def follow(program: "Program", client: Any) -> None:
    """Does what the client is in the habit of, sometimes."""
    habit = HABITS.get(program.given.get("habit", ""))
    if habit is not None and program.rng.random() < _SHARE:
        await habit(program, client)


async def leave_and_return(program: "Program", consumer: Any) -> None:
    """Out of the group, and into it again: at once, as a rule, while answers to the member that left are under way."""
    with suppress(KafkaError):
        await program.call("unsubscribe", LEAVES_WITHIN_S, consumer.unsubscribe)
    await program.pause(program.rng.choice((0.0, 0.0, 0.5)))
    consumer.subscribe([program.given["topic"]])


async def fork(program: "Program", client: Any) -> None:
    """A child, which is waited for."""
    does = program.rng.choice(_IN_CHILDREN)
    child = os.fork()
    if child == 0:
        os._exit(_in_child(program, client, does))
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    program.note("forked", does=does.__name__, code=os.waitstatus_to_exitcode(status))


def _in_child(program: "Program", client: Any, does: Callable[["Program", Any], object]) -> int:
    """The exit code: 0, also where the cluster is out of reach."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.alarm(CHILD_S)
    try:
        with suppress(KafkaError):
            does(program, client)
        gc.collect()
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _use_the_copy(program: "Program", client: Any) -> None:
    """It says that it is its parent's."""
    function = client.flush if hasattr(client, "flush") else client.poll
    try:
        _awaited(lambda: function(timeout=1.0))
    except ClientClosedError:
        return
    raise AssertionError("a forked child used its parent's client")


def _close_the_copy(program: "Program", client: Any) -> None:
    _awaited(client.close)


def _use_another(program: "Program", client: Any) -> None:
    with kwire.Admin(**program.way) as own:
        own.list_topics(timeout=5.0)


def _awaited(function: Callable[[], Any]) -> None:
    """Calls it on a loop of the child's own."""

    async def work() -> None:
        result = function()
        if inspect.isawaitable(result):
            await result

    asyncio.run(work())


_IN_CHILDREN = (_use_the_copy, _close_the_copy, _use_another)
HABITS = {"leave": leave_and_return, "fork": fork}
