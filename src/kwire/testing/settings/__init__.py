"""The settings of brokers, topics and groups by Kafka's names, with the texts and bounds that Apache's have."""
