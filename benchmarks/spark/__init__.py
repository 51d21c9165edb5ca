"""The Spark source and sink beside Spark's own Kafka connector, in one session: `python -m benchmarks.spark --help`."""
