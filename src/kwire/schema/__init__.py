"""What the messages are: one typed class per message for all its versions, one file per API key.

Layer 2. Imports the codec and the errors, nothing else of kwire; does no I/O. `fields` has the words in which a message
is written down, `messages` what turns them into a class and its wire plans, `registry` finds them by key or name.
"""
