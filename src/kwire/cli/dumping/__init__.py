"""What `kwire dump` is made of: the files of a broker's log directories as rows.

kinds.py      what a file is, by its name
segments.py   batches and records of segments and snapshots
beside.py     indexes, producer snapshots, checkpoints, properties
messages.py   the messages in records of Kafka's own topics, without their secrets
writing.py    rows as text or JSON
"""
