"""The shell: `kwire COMMAND`, one file per command. May import everything; nothing imports it."""
