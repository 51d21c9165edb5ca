"""The API keys that the engine asks with, by their Kafka names.

Layer 3: numbers only. Source: the "Api Keys" table of the protocol guide.
"""

PRODUCE = 0
FETCH = 1
LIST_OFFSETS = 2
METADATA = 3
FIND_COORDINATOR = 10
SASL_HANDSHAKE = 17
API_VERSIONS = 18
CREATE_TOPICS = 19
DELETE_TOPICS = 20
INIT_PRODUCER_ID = 22
OFFSET_FOR_LEADER_EPOCH = 23
SASL_AUTHENTICATE = 36
