"""A slow, plain-Python codec written from the protocol's documents: the oracle of the compiled one."""
