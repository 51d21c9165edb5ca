"""The bytes of a partition: logs, record sets cut and checked, and what producers leave in them.

Knows no cluster.
"""
