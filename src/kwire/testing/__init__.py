"""`kwire.testing`: an embedded Kafka broker, with faults on demand, and its pytest fixtures.

Layer 6: stands on the codec and the schema, imports no client.
"""

from kwire.testing.broker import Broker
from kwire.testing.faults import Faults

__all__ = ["Broker", "Faults"]
