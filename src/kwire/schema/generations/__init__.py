"""The wires before the one that versions itself: Kafka 0.7, the proposal of 2012, and the draft of 0.8.

Their bytes do not say which of them they are, and the keys of one mean something else in the next: which generation a
connection speaks is for the caller to know, never to be guessed. One module each, with the same verbs as
`kwire.protocol`; bytes only, no I/O.
"""
