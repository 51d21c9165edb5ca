"""Options of reads, streams and writes: texts of a job, made into values, or refused with the option's name.

No broker and no Spark: what asks a cluster comes after them.
"""
