"""Soak: all clients of one process under a mixed load for an hour, and whether anything of theirs grows meanwhile.

`python -m tests.soak --help` tells how to run it; `judge.py` has what counts as growth.
"""
