"""What every other room of the engine may use: addresses, requests, backoff, secrets, topic patterns.

Layer 3, no I/O. Imports no other room.
"""
