"""A million acknowledged records under many kills of brokers, and how soon kwire, librdkafka and Java go on after one.

Run it with `make kills` or `python -m tests.kills`.
"""
