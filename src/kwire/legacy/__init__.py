"""Kafka 0.7, spoken as a client: `Client` for its brokers, `segments` for its log files on disk.

`ProposalClient` speaks what was proposed to follow it.

Layer 5, beside the clients of 0.8 and newer, with which it shares the codec and the sockets but nothing else: there
are no metadata, no keys, no acknowledgements, and an offset is a byte position.
"""

from __future__ import annotations

from kwire.legacy.client import Client
from kwire.legacy.messages import Message, Position
from kwire.legacy.proposal import ProposalClient
from kwire.legacy.segments import Segment, segments

__all__ = ["Client", "Message", "Position", "ProposalClient", "Segment", "segments"]
