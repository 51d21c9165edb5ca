"""StreamsGroupTopologyDescriptionUpdate (key 93), version 0: an application of Kafka Streams hands in the description
of its topology (KIP-1331).

Source: Apache's definitions of 4.4.0 (v0).
"""

from __future__ import annotations

from collections.abc import Sequence

from kwire.schema.fields import array, i8, i16, i32, string, strings, struct
from kwire.schema.messages import Request, Response, Struct

__all__ = ["StreamsGroupTopologyDescriptionUpdateRequest", "StreamsGroupTopologyDescriptionUpdateResponse"]


class _TopologyDescriptionNode(Struct):
    """A source, a processor or a sink of a topology."""

    name: str = string("0+", default="")
    node_type: int = i8("0+", default=0)
    source_topics: Sequence[str] = strings("0+", default=())
    sink_topic: str | None = string("0+", default=None, nullable="0+")
    stores: Sequence[str] = strings("0+", default=())
    successors: Sequence[str] = strings("0+", default=())


class StreamsGroupTopologyDescriptionUpdateRequest(Request, key=93, versions="0", flexible="0+"):
    """The description: subtopologies, their nodes and the global stores."""

    TopologyDescriptionNode = _TopologyDescriptionNode

    class TopologyDescription(Struct):
        class TopologyDescriptionSubtopology(Struct):
            subtopology_id: str = string("0+", default="")
            nodes: Sequence[_TopologyDescriptionNode] = array(_TopologyDescriptionNode, "0+", default=())

        class TopologyDescriptionGlobalStore(Struct):
            source: _TopologyDescriptionNode = struct("0+", default_factory=_TopologyDescriptionNode)
            processor: _TopologyDescriptionNode = struct("0+", default_factory=_TopologyDescriptionNode)

        subtopologies: Sequence[TopologyDescriptionSubtopology] = array(
            TopologyDescriptionSubtopology, "0+", default=()
        )
        global_stores: Sequence[TopologyDescriptionGlobalStore] = array(
            TopologyDescriptionGlobalStore, "0+", default=()
        )

    group_id: str = string("0+", default="")
    member_id: str = string("0+", default="")
    topology_epoch: int = i32("0+", default=0)
    topology_description: TopologyDescription = struct("0+", default_factory=TopologyDescription)


class StreamsGroupTopologyDescriptionUpdateResponse(Response, key=93, versions="0", flexible="0+"):
    """Whether it was taken."""

    throttle_time_ms: int = i32("0+", default=0)
    error_code: int = i16("0+", default=0)
    error_message: str | None = string("0+", default=None, nullable="0+")
