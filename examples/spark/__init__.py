"""A pipeline from Kafka to Parquet and back to Kafka, to run, kill and run again: see README.md beside this."""
