"""Programs to read and to run."""
