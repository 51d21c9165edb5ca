"""A WSGI service whose prefork workers have a producer each."""
