"""Admin for asyncio: the cluster and its brokers. Layer 5: signatures and docstrings.

What only runs a wait is written by `make docs`, from the methods of `_admin/cluster.py`.
"""

from __future__ import annotations

from kwire._typing import TYPE_CHECKING
from kwire.aio.client import Client
from kwire.engine import admin as engine
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.cluster_results import ClusterDescription
    from kwire.engine.settings.options import Timeout


class ClusterCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about the cluster and its brokers."""

    async def describe_cluster(
        self,
        *,
        include_authorized_operations: bool = False,
        include_fenced_brokers: bool = False,
        timeout: Timeout = None,
    ) -> ClusterDescription:
        """The cluster's id, its brokers and its controller; if asked for, also what this client may do on the cluster
        (from Kafka 2.3 on) and the brokers that are registered and do not serve (from 4.0 on)."""
        return await self._door.run(
            engine.cluster_calls.describe_cluster(
                self._inquiry(timeout),
                include_authorized_operations=include_authorized_operations,
                include_fenced_brokers=include_fenced_brokers,
            )
        )
