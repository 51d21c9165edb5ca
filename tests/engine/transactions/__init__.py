"""The transactions of a producer, in virtual time."""
