"""Seeded schedules of faults over a real cluster of three nodes, under traffic of every kind of client.

`python -m tests.chaos --help` teaches. Each client writes down what it did and saw (`history.py`); `checker.py`, which
shares nothing with kwire, judges that by the rules of what Kafka's clients promise.
"""
