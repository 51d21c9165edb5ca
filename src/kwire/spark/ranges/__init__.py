"""Ranges of offsets: the bounds of a read, the limits of a micro-batch, and how both are cut into tasks. No I/O."""
