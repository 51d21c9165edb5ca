"""Clients that are not kwire, one file each, behind the same two verbs."""

from tests.brokers.peers.confluent import Confluent
from tests.brokers.peers.console import Console
from tests.brokers.peers.kafka_python import KafkaPython
from tests.brokers.peers.peer import Peer, PeerRecord

__all__ = ["Confluent", "Console", "KafkaPython", "Peer", "PeerRecord"]
