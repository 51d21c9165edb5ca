"""Group coordinators of the embedded broker: classic groups, consumer groups (KIP-848), share groups, offsets.

Plain state for one thread, over the cluster's clocks and timers. A request that has to wait for others gets a `Held`,
and whoever decides the answer fills it in. Nothing of the client's side is used here, so that each side is tested with
another's.
"""
