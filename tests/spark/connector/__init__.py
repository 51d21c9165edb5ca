"""kwire's Spark source and sink compared with Spark's own Kafka connector, in one session and on one broker."""
