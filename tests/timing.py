"""How long tests wait. They do not measure: a bound tells what must not wait from what would wait for a minute."""

SOON = 5.0
"""Seconds in which what need not wait happens, on a busy machine too; assert it where it would else take far longer."""

PATIENT = 60.0
"""Seconds after which a test that waits for something fails: half of what pytest-timeout allows."""
