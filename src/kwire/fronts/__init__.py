"""What the clients for threads and those for asyncio share, beside the base of all in `kwire.drivers.front`."""
