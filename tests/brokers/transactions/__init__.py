"""Transactions on real Apache Kafka."""
