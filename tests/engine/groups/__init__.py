"""Consumer groups in virtual time."""
