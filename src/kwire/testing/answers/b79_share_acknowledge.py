"""ShareAcknowledge (key 79).

Behaviour
    Acknowledges records in a share session (see groups/shares.py) without fetching others: 0 a gap, 1 accepted, 2
    released, 3 rejected. Of a partition all acknowledgements are taken, or none. The last request of a session releases
    what is left.

    INVALID_RECORD_STATE   the member does not hold the records, or no longer
    INVALID_REQUEST        ranges overlap or are out of order, types are unknown or do not fit the range

Version notes
    v2   is_renew_ack: type 4 extends the lock (KIP-1222)
"""

from __future__ import annotations

from kwire.errors import BrokerError
from kwire.errors import broker as codes
from kwire.protocol import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from kwire.testing.answers.acknowledgements import acknowledge, check_member, name_leaders
from kwire.testing.groups.shares import LAST_OF_SESSION, NEW_SESSION
from kwire.testing.requests import RequestContext

Context = RequestContext[ShareAcknowledgeRequest]
_Asked = ShareAcknowledgeRequest.AcknowledgeTopic
_Topic = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse
_Row = _Topic.PartitionData


def answer(context: Context) -> ShareAcknowledgeResponse:
    """Takes in what the member says of its records."""
    request, groups = context.request, context.cluster.groups
    try:
        group_id, member_id = check_member(context)
        if request.share_session_epoch == NEW_SESSION:
            raise codes.INVALID_SHARE_SESSION_EPOCH("acknowledgements do not begin a share session")
        groups.shares.go_on(context.node, group_id, member_id, request.share_session_epoch)
    except BrokerError as refused:
        return ShareAcknowledgeResponse(error_code=refused.code, error_message=refused.context or refused.text)
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=groups.configs.number(group_id, "share.record.lock.duration.ms"),
        responses=[
            result
            for topic in request.topics
            if (result := _acknowledged(context, group_id, member_id, topic)).partitions
        ],
    )
    if request.share_session_epoch == LAST_OF_SESSION:
        groups.shares.end(context.node, group_id, member_id)
    name_leaders(context, response, ShareAcknowledgeResponse.NodeEndpoint)
    return response


def refuse(context: Context, code: int) -> ShareAcknowledgeResponse:
    """The error of the whole answer."""
    return ShareAcknowledgeResponse(error_code=code)


def _acknowledged(context: Context, group_id: str, member_id: str, topic: _Asked) -> _Topic:
    rows = []
    for each in topic.partitions:
        if not each.acknowledgement_batches:
            continue
        row = _Row(partition_index=each.partition_index)
        refused = acknowledge(
            context, group_id, member_id, topic.topic_id, each.partition_index, each.acknowledgement_batches
        )
        if refused is not None:
            row.error_code, row.error_message = refused.code, refused.context or refused.text
        rows.append(row)
    return _Topic(topic_id=topic.topic_id, partitions=rows)
