"""A task that reads: records of its partitions or log segments, as the columns of the job. Runs in workers."""
