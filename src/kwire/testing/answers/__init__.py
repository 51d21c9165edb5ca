"""One file per API, numbered by its key: from a decoded request to its answer, or to a flow that waits for it."""
