"""The metrics of a client, pushed to its brokers where they want them (KIP-714)."""
