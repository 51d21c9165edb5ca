"""The drivers: sockets, clocks, threads and names under the sans-I/O engine.

Layer 4. They know the engine's verbs and nothing of the public clients. No protocol logic here.
"""
