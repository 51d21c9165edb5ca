"""What the nodes remember: who leads, who is allowed what, transactions, quotas, sessions of fetches, timers.

Plain state for one thread: times are passed in, and nothing here sees a request.
"""
