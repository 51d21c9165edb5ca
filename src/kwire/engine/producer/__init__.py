"""The producer after its accumulator: routing, Produce requests, idempotence, flush and close.

Layer 3, no I/O.
"""
