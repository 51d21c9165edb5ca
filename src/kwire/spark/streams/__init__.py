"""A stream's source: which offsets a micro-batch covers. Runs in one process for each query, beside the driver."""
