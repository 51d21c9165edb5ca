"""Calls that are asked until they have a result: of one broker, or of many at once.

Layer 3, no I/O.
"""
