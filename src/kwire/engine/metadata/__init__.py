"""What a client knows of the cluster: topics, partition leaders, brokers, and when to ask again.

Layer 3, no I/O.
"""
