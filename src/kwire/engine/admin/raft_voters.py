"""What AddRaftVoter and RemoveRaftVoter have in common: which voter, and what the answer says. Layer 3, no I/O.

Brokers pass both on to the leader of the quorum. To repeat one is not safe, so only what had no effect is repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import said
from kwire.errors import KafkaError
from kwire.protocol import APIS

if TYPE_CHECKING:
    from uuid import UUID

    from kwire.engine.ports import Services

_TOO_OLD = "voters are added and removed since Kafka 3.9; before it they stand in controller.quorum.voters"


class Voter(NamedTuple):
    """A controller, by its id and that of the directory of its metadata; None for `cluster_id` is whatever it is."""

    voter_id: int
    directory_id: UUID
    cluster_id: str | None = None


class VoterApi(AdminApi[int, None]):
    """What both have in common; the key is the id of the voter, the result None."""

    when_too_old = _TOO_OLD

    def __init__(self, voter: Voter) -> None:
        self.what = f"{APIS[self.api_key].name} of {voter.voter_id}"
        self.lookup = Controller()
        self._voter = voter

    @override
    def split(self, core: Services) -> Sequence[int]:
        return [self._voter.voter_id]

    @override
    def result(
        self,
        keys: Sequence[int],
        response: protocol.AddRaftVoterResponse | protocol.RemoveRaftVoterResponse,
        version: int,
    ) -> Mapping[int, KafkaError | None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, said(self.what, response.error_message))
        return dict.fromkeys(keys)
