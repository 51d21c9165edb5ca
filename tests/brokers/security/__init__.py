"""kwire's clients at the listeners of real brokers (listeners.py): what lets them in, and what they say if not."""
