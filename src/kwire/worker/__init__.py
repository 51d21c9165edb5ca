"""Workers: a handler for each record, or for each batch, over the partitions of a consumer group.

Layer 6: stands on the public clients alone. `desk.py` keeps what is in hand, `failures.py` decides what becomes of a
record whose handler failed, `work.py` is the loop, which `threads.py` and `tasks.py` run.
"""
