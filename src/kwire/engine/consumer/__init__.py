"""The consumer without its group: subscription, positions, fetches, and what a poll returns.

Layer 3, no I/O. Groups are above it.
"""
