# What the attributes of a batch (int16) or message (int8) mean, and the names of the codecs; for readers and builders.
#
#   bits 0-2 codec    bit 3 timestamp type (from magic 1)    magic 2 only: 4 transactional, 5 control, 6 delete horizon
# Sources: KIP-32 (timestamp type), KIP-98 (transactional, control), KIP-534 (delete horizon), KIP-57 (lz4), KIP-110
# (zstd).

cdef enum:
    ATTRIBUTE_CODEC = 0x07
    ATTRIBUTE_LOG_APPEND_TIME = 0x08
    ATTRIBUTE_TRANSACTIONAL = 0x10
    ATTRIBUTE_CONTROL = 0x20
    ATTRIBUTE_DELETE_HORIZON = 0x40
    ZSTD_CODEC = 4
    MAX_CODEC = 4               # zstd, magic 2
    MAX_MESSAGE_CODEC = 3       # lz4, magic 0 and 1

CODEC_NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
