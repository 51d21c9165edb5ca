"""Consumer groups: their coordinator, membership by either protocol, and the offsets that they commit.

Layer 3, no I/O. Imported only by clients that have a group_id or a transactional_id.
"""
