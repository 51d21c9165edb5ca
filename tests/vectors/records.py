"""Batches and message sets, byte by byte, with the records that they hold.

Layouts: magic 2 from KIP-98 ("Message Format") and KIP-82 (headers); magic 1 from KIP-32; magic 0 from the protocol
guide ("Messagesets"); xerial framing from snappy-java's SnappyOutputStream; lz4 from its frame format 1.6 and
KAFKA-3160.
The checksums were computed once with the table method of RFC 3720 B.4 (CRC-32C) and zlib (CRC-32).
"""

from tests.reference.records import PlainRecord
from tests.vectors import spelled

BATCH = spelled("""
    0000000000000007                # base_offset 7
    00000047                        # length 71: 49 of header behind this field, 22 of records
    00000003                        # partition_leader_epoch 3
    02                              # magic
    97dd30a6                        # CRC-32C from the attributes to the end
    0000                            # attributes: no codec, create time
    00000002                        # last_offset_delta 2: offset 8 is missing
    00000000000003e8                # base_timestamp 1000
    00000000000003ec                # max_timestamp 1004
    ffffffffffffffff ffff ffffffff  # producer_id, producer_epoch, base_sequence: none
    00000002                        # 2 records
    1c                              # record of 14 bytes (zigzag: 28)
      00 00 00                      # attributes, timestamp_delta 0, offset_delta 0
      02 6b                         # key of 1 byte, "k"
      06 76616c                     # value of 3 bytes, "val"
      02                            # 1 header
        02 68  02 31                # "h": "1"
    0c                              # record of 6 bytes
      00 08 04                      # attributes, timestamp_delta 4, offset_delta 2
      01 01                         # key null, value null
      00                            # no headers
""")
BATCH_RECORDS = [PlainRecord(7, 1000, b"k", b"val", ((b"h", b"1"),)), PlainRecord(9, 1004, None, None)]

CONTROL_BATCH = spelled("""
    0000000000000004 00000042 ffffffff 02 40e2920e
    0030                            # attributes: transactional 0x10, control 0x20
    00000000 00000000000003e8 00000000000003e8
    0000000000000005 0001 ffffffff  # producer 5, epoch 1
    00000001
    20 00 00 00                     # record of 16 bytes
      08 0000 0000                  # key: version 0, type 0 (abort)
      0c 0000 00000002              # value: version 0, coordinator epoch 2
      00
""")
CONTROL_RECORDS = [PlainRecord(4, 1000, bytes(4), bytes.fromhex("000000000002"))]

MESSAGE_0 = spelled("""
    0000000000000007                # offset 7
    00000012                        # size 18
    316a1df0                        # CRC-32 from the magic to the end
    00 00                           # magic 0, attributes: no codec
    00000001 6b                     # key "k"
    00000003 76616c                 # value "val"
""")
MESSAGE_0_RECORDS = [PlainRecord(7, -1, b"k", b"val", timestamp_type=-1)]

MESSAGE_1 = spelled("""
    0000000000000007 00000017 4b38d7a9
    01 00                           # magic 1, attributes: no codec, create time
    00000000000003e8                # timestamp 1000
    00000001 6b                     # key "k"
    ffffffff                        # value null
""")
MESSAGE_1_RECORDS = [PlainRecord(7, 1000, b"k", None)]

_WRAPPED_1 = """
    46 ec                           # raw block: 70 bytes decompressed, one literal of 60
      0000000000000000              # inner offset 0
      00000017 8a65e96d 01 00 00000000000003e8 ffffffff 00000001 61
      0000000000000001              # inner offset 1
      00000017 fcaed3e9 01 00 00000000000003
    24                              # a literal of 10
      e9 ffffffff 00000001 62
"""
XERIAL_WRAPPER_1 = spelled(
    """
    000000000000000b                # offset 11: that of the last message inside
    00000073 cd7c85b3
    01 02                           # magic 1, attributes: snappy
    00000000000003e9                # timestamp 1001, the greatest inside
    ffffffff                        # key null
    0000005d                        # value of 93 bytes
    82534e4150505900                # 0x82 "SNAPPY" 0x00
    00000001 00000001               # version 1, compatible with 1
    00000049                        # a block of 73 bytes
    """
    + _WRAPPED_1
)
XERIAL_WRAPPER_1_RECORDS = [PlainRecord(10, 1000, None, b"a"), PlainRecord(11, 1001, None, b"b")]

LZ4_WRAPPER_0 = spelled("""
    0000000000000003 00000037 169ba14d
    00 03                           # magic 0, attributes: lz4
    ffffffff 00000029               # key null, value of 41 bytes
    04224d18                        # frame magic
    60 40                           # version 1 with independent blocks; blocks of up to 64 KiB
    1a                              # second byte of XXH32 over the six bytes above; of the last two it would be 82
    1a000000                        # a block of 26 bytes
    12 00 0100                      # 1 literal (0), then 6 bytes from 1 back: zeros up to the offset's last byte
    f0 05 03 0000000f 51df3a32 0000 ffffffff 00000001 61
    00000000                        # end mark
""")
LZ4_WRAPPER_0_RECORDS = [PlainRecord(3, -1, None, b"a", timestamp_type=-1)]

ALL = {
    "batch": (BATCH, BATCH_RECORDS),
    "control batch": (CONTROL_BATCH, CONTROL_RECORDS),
    "message 0": (MESSAGE_0, MESSAGE_0_RECORDS),
    "message 1": (MESSAGE_1, MESSAGE_1_RECORDS),
    "xerial wrapper 1": (XERIAL_WRAPPER_1, XERIAL_WRAPPER_1_RECORDS),
    "lz4 wrapper 0": (LZ4_WRAPPER_0, LZ4_WRAPPER_0_RECORDS),
}
