"""The transactions of a producer (KIP-98, KIP-360, KIP-447, KIP-890, KIP-939); `manager.py` has the table of states.

Layer 3. Imported for producers with a transactional_id only.
"""
