"""What the clients for threads and those for asyncio share: everything that does not wait."""
