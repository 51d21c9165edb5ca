"""Whether a broker can be reached, and if not, at which step and why: what `kwire ping` is made of.

channel.py   one connection on an event loop, on which the clients' own flows are run
steps.py     a step with its time, its facts and its fault
probe.py     the steps to one address
advice.py    what is usually wrong, and what to do
"""
