"""What `kwire bench` is made of: clients that work for a while, in processes or threads, and what they have measured.

histogram.py   times in a table of fixed size
work.py        what one client does: produce, consume, or wait for each record
team.py        the clients of a run, started together, and their sum
"""
