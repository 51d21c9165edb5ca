"""How long tests wait: what a busy machine may add to a bound, and when a test stops waiting."""

SCHEDULING = 4.0
"""Seconds that a busy machine may add to a bound."""

PATIENT = 60.0
"""Seconds after which a test that waits for something fails: about half of what pytest-timeout allows a test."""
