"""Connections to brokers: from a fresh socket through versions and login to a node that takes requests.

Layer 3, no I/O: a driver moves the bytes.
"""
