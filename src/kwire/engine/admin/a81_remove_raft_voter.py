"""RemoveRaftVoter: a controller leaves the quorum of the metadata (KIP-853). Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Sequence

from kwire import protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.admin.raft_voters import VoterApi
from kwire.schema.api_keys import REMOVE_RAFT_VOTER
from kwire.schema.error_codes import VOTER_NOT_FOUND

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class RemoveRaftVoter(VoterApi):
    """Removes it."""

    api_key = REMOVE_RAFT_VOTER
    means_done = frozenset({VOTER_NOT_FOUND})

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.RemoveRaftVoterRequest:
        return protocol.RemoveRaftVoterRequest(
            cluster_id=self._voter.cluster_id,
            voter_id=self._voter.voter_id,
            voter_directory_id=self._voter.directory_id,
        )
