"""Settings: their kinds, their tables, and what other clients call them.

Layer 3. Values only: nothing here asks a broker.
"""
