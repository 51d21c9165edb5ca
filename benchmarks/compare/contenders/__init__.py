"""The clients that are compared: one module each, NAME_codec for what needs no broker, NAME_aio on asyncio.

A module has one function per task that its client can do, named like the task; it takes a `Task` and returns what it
measured. `prepare`, where a module has it, runs once before its processes are forked. To add a client, write its module
and name it in the rows that it takes part in.
"""
