"""Share groups (KIP-932): records that are acquired for a while and acknowledged one by one, as from a queue.

Layer 3, no I/O: membership, share sessions with each broker, what was acquired, and acknowledgements.
"""
