"""kwire's clients at the doors of real brokers (doors.py): what lets them in, and what they say if not."""
