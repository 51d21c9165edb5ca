"""What one Python worker keeps between tasks: its clients, its heap, and which Python it is."""
