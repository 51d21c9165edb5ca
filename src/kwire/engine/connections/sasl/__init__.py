"""The SASL mechanisms, one per file: which tokens a client sends, and what it checks in those of the broker.

Layer 3, no I/O. A mechanism is a flow (see `connections/flows.py`): it says its tokens by the `Say` that it is given,
which knows how they travel, and ends when the broker has proved what it has to prove. What fails is an AuthError with a
reason; `connections/authentication.py` adds the step and the broker. No object here shows a secret in its repr.
"""
