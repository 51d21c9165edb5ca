"""Every public coroutine, cancelled in the turn in which it was called or in one soon after: the client goes on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from kwire import errors
from kwire.aio import Admin, Consumer, Producer, ShareConsumer
from kwire.testing import Broker
from tests.aio.conftest import Run
from tests.clients.test_share_consumer import begin_at_first

T0 = ("t", 0)
Call = Callable[[Any], Awaitable[Any]]
ACL = ("topic", "t", "literal", "User:u", "*", "read", "allow")
TURNS = (None, 0, 1, 2, 3, 5)
"""Turns of the loop before the cancellation; None: the wait for it has no time at all."""

CONSUMER: dict[str, Call] = {
    "poll": lambda it: it.poll(1.0),
    "position": lambda it: it.position(T0),
    "beginning_offsets": lambda it: it.beginning_offsets([T0]),
    "end_offsets": lambda it: it.end_offsets([T0]),
    "offsets_for_times": lambda it: it.offsets_for_times({T0: 0}),
    "partitions_for": lambda it: it.partitions_for("t"),
    "commit": lambda it: it.commit(),
    "committed": lambda it: it.committed([T0]),
    "lag": lambda it: it.lag(),
    "unsubscribe": lambda it: it.unsubscribe(),
    "__anext__": lambda it: anext(aiter(it)),
    "client_instance_id": lambda it: it.client_instance_id(),
    "close": lambda it: it.close(),
}
SHARE: dict[str, Call] = {
    "poll": lambda it: it.poll(1.0),
    "commit": lambda it: it.commit(),
    "client_instance_id": lambda it: it.client_instance_id(),
    "close": lambda it: it.close(),
}
PRODUCER: dict[str, Call] = {
    "drain": lambda it: it.drain(),
    "flush": lambda it: it.flush(),
    "init_transactions": lambda it: it.init_transactions(),
    "begin_transaction": lambda it: it.begin_transaction(),
    "send_offsets_to_transaction": lambda it: it.send_offsets_to_transaction({T0: 1}, "g"),
    "commit_transaction": lambda it: it.commit_transaction(),
    "abort_transaction": lambda it: it.abort_transaction(),
    "prepare_transaction": lambda it: it.prepare_transaction(),
    "complete_transaction": lambda it: it.complete_transaction("0:0"),
    "client_instance_id": lambda it: it.client_instance_id(),
    "close": lambda it: it.close(),
}
ADMIN: dict[str, Call] = {
    "create_topics": lambda it: it.create_topics({"new": 1}),
    "delete_topics": lambda it: it.delete_topics(["wide"]),
    "list_topics": lambda it: it.list_topics(),
    "describe_topics": lambda it: it.describe_topics(["t"]),
    "list_offsets": lambda it: it.list_offsets({T0: "latest"}),
    "list_groups": lambda it: it.list_groups(),
    "list_consumer_groups": lambda it: it.list_consumer_groups(),
    "describe_consumer_groups": lambda it: it.describe_consumer_groups(["g"]),
    "describe_classic_groups": lambda it: it.describe_classic_groups(["g"]),
    "delete_consumer_groups": lambda it: it.delete_consumer_groups(["g"]),
    "list_consumer_group_offsets": lambda it: it.list_consumer_group_offsets("g"),
    "alter_consumer_group_offsets": lambda it: it.alter_consumer_group_offsets("g", {T0: 1}),
    "delete_consumer_group_offsets": lambda it: it.delete_consumer_group_offsets("g", [T0]),
    "remove_members_from_consumer_group": lambda it: it.remove_members_from_consumer_group("g", ["m"]),
    "describe_share_groups": lambda it: it.describe_share_groups(["g"]),
    "list_share_group_offsets": lambda it: it.list_share_group_offsets("g"),
    "alter_share_group_offsets": lambda it: it.alter_share_group_offsets("g", {T0: 1}),
    "delete_share_group_offsets": lambda it: it.delete_share_group_offsets("g", ["t"]),
    "delete_share_groups": lambda it: it.delete_share_groups(["g"]),
    "describe_streams_groups": lambda it: it.describe_streams_groups(["g"]),
    "list_streams_group_offsets": lambda it: it.list_streams_group_offsets("g"),
    "alter_streams_group_offsets": lambda it: it.alter_streams_group_offsets("g", {T0: 1}),
    "delete_streams_group_offsets": lambda it: it.delete_streams_group_offsets("g", [T0]),
    "delete_streams_groups": lambda it: it.delete_streams_groups(["g"]),
    "lag": lambda it: it.lag("g"),
    "create_acls": lambda it: it.create_acls([ACL]),
    "describe_acls": lambda it: it.describe_acls(),
    "delete_acls": lambda it: it.delete_acls([ACL]),
    "describe_client_quotas": lambda it: it.describe_client_quotas(),
    "alter_client_quotas": lambda it: it.alter_client_quotas({("user", "u"): {"producer_byte_rate": 1e9}}),
    "describe_user_scram_credentials": lambda it: it.describe_user_scram_credentials(),
    "alter_user_scram_credentials": lambda it: it.alter_user_scram_credentials({"u": {"SCRAM-SHA-256": "p"}}),
    "create_delegation_token": lambda it: it.create_delegation_token(),
    "renew_delegation_token": lambda it: it.renew_delegation_token(b"hmac"),
    "expire_delegation_token": lambda it: it.expire_delegation_token(b"hmac"),
    "describe_delegation_token": lambda it: it.describe_delegation_token(),
    "describe_configs": lambda it: it.describe_configs([("topic", "t")]),
    "incremental_alter_configs": lambda it: it.incremental_alter_configs({("topic", "t"): {"retention.ms": None}}),
    "alter_configs": lambda it: it.alter_configs({("topic", "t"): {}}),
    "list_config_resources": lambda it: it.list_config_resources(),
    "list_client_metrics_resources": lambda it: it.list_client_metrics_resources(),
    "create_partitions": lambda it: it.create_partitions({"wide": 9}),
    "delete_records": lambda it: it.delete_records({T0: "latest"}),
    "describe_cluster": lambda it: it.describe_cluster(),
    "describe_log_dirs": lambda it: it.describe_log_dirs(),
    "describe_replica_log_dirs": lambda it: it.describe_replica_log_dirs([("t", 0, 1)]),
    "alter_replica_log_dirs": lambda it: it.alter_replica_log_dirs({("t", 0, 1): "/kwire-1"}),
    "alter_partition_reassignments": lambda it: it.alter_partition_reassignments({T0: [1]}),
    "list_partition_reassignments": lambda it: it.list_partition_reassignments(),
    "elect_leaders": lambda it: it.elect_leaders("preferred", [T0]),
    "list_transactions": lambda it: it.list_transactions(),
    "describe_transactions": lambda it: it.describe_transactions(["tx"]),
    "describe_producers": lambda it: it.describe_producers([T0]),
    "abort_transaction": lambda it: it.abort_transaction(T0, {"producer_id": 1, "producer_epoch": 0}),
    "fence_producers": lambda it: it.fence_producers(["tx"]),
    "force_terminate_transaction": lambda it: it.force_terminate_transaction("tx"),
    "describe_features": lambda it: it.describe_features(),
    "update_features": lambda it: it.update_features({"share.version": 1}, validate_only=True),
    "describe_metadata_quorum": lambda it: it.describe_metadata_quorum(),
    "add_raft_voter": lambda it: it.add_raft_voter(1, UUID(int=1), [("CONTROLLER", "a", 1)]),
    "remove_raft_voter": lambda it: it.remove_raft_voter(1, UUID(int=1)),
    "unregister_broker": lambda it: it.unregister_broker(9),
    "client_instance_id": lambda it: it.client_instance_id(),
    "close": lambda it: it.close(),
}


@pytest.mark.parametrize(
    ("kind", "calls"), [(Consumer, CONSUMER), (ShareConsumer, SHARE), (Producer, PRODUCER), (Admin, ADMIN)]
)
def test_no_coroutine_is_left_out(kind: type, calls: dict[str, Call]) -> None:
    public = {
        name
        for name, function in inspect.getmembers(kind, inspect.iscoroutinefunction)
        if not name.startswith("_") and callable(function)
    }
    assert public <= set(calls)


async def cancelled(call: Callable[[], Awaitable[Any]], turns: int | None) -> None:
    """Calls, and cancels after so many turns; what the call may have raised before is of no interest."""
    if turns is None:
        try:
            async with asyncio.timeout(0):
                await call()
        except (TimeoutError, errors.KafkaError, StopAsyncIteration):
            pass
        return
    begun = call()
    task = begun if isinstance(begun, asyncio.Future) else asyncio.ensure_future(begun)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def read_one(consumer: Any) -> list[bytes | None]:
    """The values of the next poll that has any."""
    while not (records := await consumer.poll(1.0)):
        pass
    return [record.value for record in records]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_finds_the_consumer_unsubscribed_may_use_it_in_the_same_turn(
    protocol: str, run: Run, broker: Broker
) -> None:
    async def main() -> None:
        async with Consumer(
            broker.bootstrap_servers, group_id="g", auto_offset_reset="earliest", group_protocol=protocol
        ) as it:
            broker.append("t", [b"first"])
            for _ in range(3):
                it.subscribe(["t"])
                await it.poll(1.0)
                leaving = it.unsubscribe()
                while not leaving.done():
                    await asyncio.sleep(0)
                await leaving
            it.subscribe(["t"])
            await it.poll(0.0)
            assert it.subscription() == {"t"}

    run(main())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("call", CONSUMER)
def test_a_consumer(call: str, protocol: str, run: Run, broker: Broker) -> None:
    async def main() -> None:
        for turn in TURNS:
            group = f"g-{turn}"
            async with Consumer(
                broker.bootstrap_servers,
                group_id=group,
                auto_offset_reset="earliest",
                group_protocol=protocol,
                enable_metrics_push=True,
            ) as it:
                it.subscribe(["t"])
                broker.append("t", [b"first"])
                seen = await read_one(it)
                await cancelled(lambda it=it: CONSUMER[call](it), turn)  # type: ignore[misc]
                broker.append("t", [b"last"])
                if call == "close":
                    await it.close()
                    continue
                if call == "unsubscribe":
                    await asyncio.wait_for(it.committed([T0]), 60)
                    assert it.assignment() == set()
                it.subscribe(["t"])
                while seen[-1] != b"last" or len(seen) < broker.offsets("t")[1]:
                    seen += await read_one(it)
                await it.commit()
                assert await it.position(T0) == broker.offsets("t")[1]

    run(main())


@pytest.mark.parametrize("call", SHARE)
def test_a_share_consumer(call: str, run: Run, broker: Broker) -> None:
    async def main() -> None:
        for turn in TURNS:
            group = f"s-{turn}"
            begin_at_first(broker, group)
            async with ShareConsumer(broker.bootstrap_servers, group_id=group, enable_metrics_push=True) as it:
                it.subscribe(["t"])
                broker.append("t", [b"first"])
                seen = await read_one(it)
                await cancelled(lambda it=it: SHARE[call](it), turn)  # type: ignore[misc]
                if call == "close":
                    await it.close()
                    continue
                broker.append("t", [b"last"])
                while seen[-1] != b"last" or len(seen) < broker.offsets("t")[1]:
                    seen += await read_one(it)
                assert list((await it.commit()).values()) == [None]
                assert len(seen) == broker.offsets("t")[1]

    run(main())


@pytest.mark.parametrize("call", PRODUCER)
def test_a_producer(call: str, run: Run, broker: Broker) -> None:
    """In a transaction, where the call needs one; what the call leaves open is aborted, and the next one commits."""
    begins = call not in ("drain", "flush", "init_transactions", "begin_transaction")

    async def main() -> None:
        for turn in TURNS:
            options: Any = {"transactional_id": f"tx-{turn}", "enable_metrics_push": True}
            async with Producer(broker.bootstrap_servers, **options) as it:
                if call != "init_transactions":
                    await it.init_transactions()
                if begins:
                    await it.begin_transaction()
                    it.send("t", b"in doubt")
                await cancelled(lambda it=it: PRODUCER[call](it), turn)  # type: ignore[misc]
                if call == "close":
                    await it.close()
                    continue
                await end_what_is_open(it, call)
                async with it.transaction():
                    await it.send("t", b"%d" % (turn or 100))
                assert broker.values("t", committed=True)[-1] == b"%d" % (turn or 100)

    run(main())


async def end_what_is_open(producer: Producer, call: str) -> None:
    """Waits for what the call has begun, by the same call, then ends the transaction if there is one."""
    ends = {"commit_transaction": producer.commit_transaction, "init_transactions": producer.init_transactions}
    try:
        await ends.get(call, producer.abort_transaction)()
    except errors.TransactionStateError:
        pass  # there was none, or it was over


@pytest.mark.parametrize("call", ADMIN)
def test_an_admin(call: str, run: Run, broker: Broker) -> None:
    async def main() -> None:
        for turn in TURNS:
            async with Admin(broker.bootstrap_servers, enable_metrics_push=True) as it:
                await cancelled(lambda it=it: ADMIN[call](it), turn)  # type: ignore[misc]
                if call != "close":
                    assert "t" in await it.list_topics()

    run(main())
