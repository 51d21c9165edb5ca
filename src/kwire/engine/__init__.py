"""The engine: what a Kafka client does, without a socket, a clock or a die.

Layer 3. Bytes, time and randomness are passed in, so the same logic stands under the synchronous driver and any other,
and whole clients run in tests in virtual time. Nothing here imports socket, ssl, select, selectors, asyncio, threading,
time, random or logging.
"""
