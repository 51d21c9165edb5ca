"""Who is compared: a module for each client, NAME_codec for what needs no broker.

Each has VERBS: verb of a `Task` -> what does it and gives what it measured.
"""
