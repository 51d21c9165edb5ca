"""A task that writes rows, and what Spark calls for it. Runs in workers."""
