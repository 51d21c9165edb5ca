"""A service on FastStream and kwire: `app.py` is the service, `broker.py` makes kwire a broker of FastStream."""
