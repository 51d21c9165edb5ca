"""What can be wrong with a schema registry."""

from __future__ import annotations

from kwire.errors import KafkaError


class RegistryError(KafkaError):
    """A registry that does not answer as one, or refuses to; trying the job again may help."""


class UnknownSchemaError(RegistryError):
    """An id or subject that the registry does not have, or not as an Avro schema."""
