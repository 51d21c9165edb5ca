"""From options to tasks: what a cluster is asked once for each read, and who reads what. Runs on the driver."""
