"""AddRaftVoter: a controller comes into the quorum of the metadata (KIP-853). Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.quorum_results import RaftVoterEndpoint
from kwire.engine.admin.raft_voters import Voter, VoterApi
from kwire.schema.api_keys import ADD_RAFT_VOTER
from kwire.schema.error_codes import DUPLICATE_VOTER

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class AddRaftVoter(VoterApi):
    """Adds it, with the places where it listens."""

    api_key = ADD_RAFT_VOTER
    means_done = frozenset({DUPLICATE_VOTER})

    def __init__(self, voter: Voter, endpoints: Sequence[RaftVoterEndpoint]) -> None:
        super().__init__(voter)
        self._endpoints = endpoints

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.AddRaftVoterRequest:
        made = protocol.AddRaftVoterRequest
        return made(
            cluster_id=self._voter.cluster_id,
            timeout_ms=self.patience_ms,
            voter_id=self._voter.voter_id,
            voter_directory_id=self._voter.directory_id,
            listeners=[made.Listener(name=each.listener, host=each.host, port=each.port) for each in self._endpoints],
        )
