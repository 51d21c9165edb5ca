"""Kafka's log as files: folders of segments, on a local disk or on any other storage, without a broker.

    names.py, folders.py    which files belong to which partition, and which of them count
    storage.py              what is asked of a file system; the local one
    indexes.py              `.index`, `.timeindex`, `.txnindex`, `.snapshot`, checkpoints
    frames.py               the headers of batches, one after the other, without their records
    partition_log.py        one partition: its ends, the places of offsets and times
    overlaps.py             segments that hold the same offsets
    transactions.py         what read_committed leaves out
    splits.py               pieces of about equal size
    reading.py              the records of a piece

Stands on the codec alone; no socket, no Arrow library. Memory is bounded: files are read in ranges.
"""
