"""`python -m kwire`: the same as the command `kwire`."""

import sys

from kwire.cli.entry import run

if __name__ == "__main__":  # not in the processes that a command starts
    sys.exit(run())
