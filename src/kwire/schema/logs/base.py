"""What the messages of Kafka's own topics have in common: a record type, and an envelope that says it.

No message is defined here; what an envelope looks like is in `envelopes`.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.schema.logs.envelopes import METADATA_FRAME_VERSION, int16_word, uvarint_word
from kwire.schema.messages import Message

if TYPE_CHECKING:
    from typing import ClassVar
else:
    from kwire._typing import ClassVar

__all__ = ["MetadataRecord", "RecordKey", "RecordValue"]


class RecordKey(Message, abstract=True):
    """The key of a coordinator's record."""

    __api_key__: ClassVar[int]

    def to_log(self) -> bytes:
        """The key as it stands in the log: its type, then its fields."""
        return int16_word(self.__api_key__) + self.encode(0)


class RecordValue(Message, abstract=True):
    """The value of a coordinator's record."""

    __api_key__: ClassVar[int]

    def to_log(self, version: int) -> bytes:
        """The value as it stands in the log: its version, then its fields."""
        return int16_word(version) + self.encode(version)


class MetadataRecord(Message, abstract=True):
    """The value of a record without key, in the logs of cluster metadata and of tiered storage."""

    __api_key__: ClassVar[int]

    def to_log(self, version: int) -> bytes:
        """The value as it stands in the log: the version of the frame, its type, its version, then its fields."""
        words = (METADATA_FRAME_VERSION, self.__api_key__, version)
        return b"".join(map(uvarint_word, words)) + self.encode(version)
