"""Workers: a handler for each record, or for each batch, over the partitions of a consumer group.

Layer 6: stands on the public clients of asyncio alone. `progress.py` keeps what is in hand, `failures.py` decides what
becomes of a record whose handler failed, `work.py` is the worker, and `threads.py` and `tasks.py` call the handler.
"""
