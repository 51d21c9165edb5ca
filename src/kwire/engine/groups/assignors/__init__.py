"""Assignors of classic groups: who reads which partition, decided by the group's leader.

Layer 3, no I/O. `assignors_of` makes those of one consumer. Each gives the same result as Java's assignor of its name,
partition by partition and in the same order, so that groups of both are balanced alike whoever leads.
"""

from __future__ import annotations

from kwire.engine.groups.assignors.chosen import Assignors, assignors_of
from kwire.engine.groups.assignors.contract import Assignment, Assignor, ClusterView, MemberSubscription

__all__ = ["Assignment", "Assignor", "Assignors", "ClusterView", "MemberSubscription", "assignors_of"]
