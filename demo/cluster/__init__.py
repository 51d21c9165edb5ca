"""kwire on a Spark cluster: a standalone master and two workers, a shipped Python environment, three brokers with TLS
and SCRAM, and a streaming job that writes exactly once. `make demo-cluster` runs it; README.md of examples/spark tells
what to do on a cluster of your own.
"""
