"""Registry for asyncio: what blocks runs on a thread of its own. What it says and keeps is in `kwire.registry.front`.

What only runs a flow is written by `make docs`, from the methods of `kwire/registry/client.py`.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Callable, Hashable, Iterable, Mapping

from kwire._typing import Any, TypeVar, override
from kwire.drivers.apart import future_of_thread
from kwire.engine.common.secret import hiding_arguments
from kwire.registry.flows import Apart, Flow, Once, Pause, Step
from kwire.registry.front import RegistryFront, given_schema
from kwire.registry.schema import RegisteredSchema, Schema, SchemaReference
from kwire.registry.settings import RegistrySettings, Token, settings_of

T = TypeVar("T")


class LoopDoor:
    """The flows of one Registry that tasks run; those of one key one at a time on each event loop."""

    blocks = False

    def __init__(self) -> None:
        self._running: dict[tuple[asyncio.AbstractEventLoop, Hashable], asyncio.Future[Any]] = {}

    async def run(self, flow: Flow[T]) -> T:
        """The result of the flow."""
        came: Any = None
        failed: Exception | None = None
        try:
            while True:
                step = flow.send(came) if failed is None else flow.throw(failed)
                came = failed = None
                try:
                    came = await self._done(step)
                except Exception as error:
                    failed = error
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            flow.close()

    async def _done(self, step: Step) -> Any:
        loop = asyncio.get_running_loop()
        if isinstance(step, Apart):
            return await future_of_thread(loop, step.function)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        while (running := self._running.get((loop, step.key))) is not None:
            outcome = await asyncio.shield(running)
            if outcome is not None:
                return outcome.result()
        return await self._lead(loop, step)

    async def _lead(self, loop: asyncio.AbstractEventLoop, step: Once) -> Any:
        """Runs it for all who wait; one that was cancelled leaves them None, and the next of them runs it."""
        self._running[loop, step.key] = mine = loop.create_future()
        outcome: asyncio.Future[Any] | None = None
        try:
            result = await self.run(step.flow())
            outcome = loop.create_future()
            outcome.set_result(result)
            return result
        except Exception as error:
            outcome = loop.create_future()
            outcome.set_exception(error)
            outcome.exception()  # those who wait may be none
            raise
        finally:
            del self._running[loop, step.key]
            mine.set_result(outcome)


class Registry(RegistryFront):
    """A schema registry with Confluent's HTTP interface, on an event loop: as `kwire.registry.Registry`, with calls to
    be awaited."""

    _door: LoopDoor

    @hiding_arguments
    def __init__(
        self,
        urls: str | Iterable[str],
        *,
        username: str = "",
        password: str = "",
        token: str | Callable[[], Token] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        ssl_ca_location: str | os.PathLike[str] | None = None,
        ssl_certificate_location: str | os.PathLike[str] | None = None,
        ssl_key_location: str | os.PathLike[str] | None = None,
        ssl_key_password: str = "",
        request_timeout_ms: int = 10_000,
        default_api_timeout_ms: int = 60_000,
        retries: int = 2,
        retry_backoff_ms: int = 200,
        ignore_rules: bool = False,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._open(
            settings_of(
                urls,
                username=username,
                password=password,
                token=token,
                ssl_context=ssl_context,
                ssl_ca_location=ssl_ca_location,
                ssl_certificate_location=ssl_certificate_location,
                ssl_key_location=ssl_key_location,
                ssl_key_password=ssl_key_password,
                request_timeout_ms=request_timeout_ms,
                default_api_timeout_ms=default_api_timeout_ms,
                retries=retries,
                retry_backoff_ms=retry_backoff_ms,
                ignore_rules=ignore_rules,
                headers=headers,
            )
        )

    # -- schemas ----------------------------------------------------------------------------------------------------

    async def by_id(self, id_: int) -> Schema:
        """The schema of an id."""
        return await self._door.run(self._by_id(id_))

    async def by_guid(self, guid: str) -> Schema:
        """The schema of a GUID, which newer registries give besides the id."""
        return await self._door.run(self._by_guid(guid))

    async def resolve(self, schema: Schema, *, what: str = "the schema") -> dict[SchemaReference, Schema]:
        """The schemas that this one refers to, and those that they refer to: each before the ones that need it.

        `what` is what errors call it.
        """
        return await self._door.run(self._resolved(schema, what))

    # -- subjects ---------------------------------------------------------------------------------------------------

    async def register(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        normalize: bool = False,
    ) -> int:
        """The id of the schema, which is a version of the subject from now on, if it was none.

        `schema` is a Schema; or a text with its `schema_type`, AVRO (the default), PROTOBUF or JSON, and `references`.
        IncompatibleSchemaError where the subject's compatibility forbids it.
        """
        given = given_schema(schema, schema_type, references)
        registered = await self._door.run(self._registering(subject, given, normalize=normalize))
        return registered.id

    async def lookup(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        normalize: bool = False,
    ) -> RegisteredSchema:
        """Which version of the subject this schema is; UnknownSchemaError where it is none."""
        given = given_schema(schema, schema_type, references)
        return await self._door.run(self._lookup(subject, given, normalize=normalize))

    async def latest(self, subject: str) -> RegisteredSchema:
        """The newest version of a subject."""
        return await self._door.run(self._latest(subject))

    async def version(self, subject: str, version: int) -> RegisteredSchema:
        """One version of a subject."""
        return await self._door.run(self._version(subject, version))

    async def versions(self, subject: str, *, deleted: bool = False) -> list[int]:
        """The versions of a subject; with those deleted for now, if asked for."""
        return await self._door.run(self._versions(subject, deleted=deleted))

    async def subjects(self, prefix: str = "", *, deleted: bool = False) -> list[str]:
        """The subjects whose names begin with `prefix`; with those deleted for now, if asked for."""
        return await self._door.run(self._subjects(prefix, deleted=deleted))

    async def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Deletes all versions of a subject, and returns them. Their ids go on to be known; `permanent`, after a delete
        without it, ends that."""
        return await self._door.run(self._delete_subject(subject, permanent=permanent))

    async def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> int:
        """Deletes one version of a subject, and returns it."""
        return await self._door.run(self._delete_version(subject, version, permanent=permanent))

    # -- compatibility ----------------------------------------------------------------------------------------------

    async def compatible(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        version: int | str | None = "latest",
        normalize: bool = False,
    ) -> bool:
        """Whether the subject would take this schema as its next version: compared with the latest one, with another
        `version`, or with as many as its compatibility asks for (None)."""
        given = given_schema(schema, schema_type, references)
        return not await self._door.run(self._incompatibilities(subject, given, version, normalize=normalize))

    async def incompatibilities(
        self,
        subject: str,
        schema: Schema | str,
        schema_type: str | None = None,
        references: Iterable[SchemaReference] = (),
        *,
        version: int | str | None = "latest",
        normalize: bool = False,
    ) -> list[str]:
        """Why the subject would not take this schema as its next version, in the registry's words; nothing where it
        would: compared as `compatible` does it."""
        given = given_schema(schema, schema_type, references)
        return await self._door.run(self._incompatibilities(subject, given, version, normalize=normalize))

    async def compatibility(self, subject: str | None = None) -> str:
        """BACKWARD, FORWARD, FULL, each also with _TRANSITIVE, or NONE: of a subject, or of all without one of their
        own."""
        return await self._door.run(self._compatibility(subject))

    async def set_compatibility(self, level: str, subject: str | None = None) -> str:
        """Sets the compatibility of a subject, or of all without one of their own."""
        return await self._door.run(self._set_compatibility(level, subject))

    @override
    def _open(self, settings: RegistrySettings) -> None:
        super()._open(settings)
        self._door = LoopDoor()
