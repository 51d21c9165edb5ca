# The containers around compressed blocks, walked without a Python object for each: a megabyte may hold 200,000 of them.
#
#   xerial stream   (0x82 "SNAPPY" 0x00, version int32, compatible int32), which may be repeated between blocks; then
#                   blocks: length int32, raw snappy block
#   snappy block    size uvarint, then elements; a literal of up to 60 bytes: byte (size - 1) << 2, bytes
#   lz4 frame       magic uint32, flags byte, byte whose bits 4-6 say how large blocks are, content size uint64 if the flags
#                   say so, header checksum byte; blocks, end mark uint32 0, checksum uint32 if the flags say so
#   lz4 block       uint32 size, bit 31: stored as it is; bytes; XXH32 uint32 if the header says so
#                   compressed bytes may be one literal of up to 14 bytes: byte size << 4, bytes
#   zstd frame      0xFD2FB528, descriptor byte, window byte unless single segment, dictionary id, content size, blocks,
#                   checksum uint32 if the descriptor says so. Skippable frame: 0x184D2A5?, size uint32, bytes
#   zstd block      24 bits: bit 0 last, bits 1-2 raw, run, compressed, reserved; bits 3-23 size; bytes
# lz4 and zstd are little-endian. Sources: snappy's format_description.txt and framing of xerial's snappy-java, the lz4
# frame format 1.6 and block format, RFC 8878.
#
# Blocks that hold nothing, one short literal, or bytes as they are, are written to the output here; the others are
# returned one by one, for the libraries. What is inside those is not looked at.

cdef extern from "xxh32.h" nogil:
    uint32_t kw_load_le32(const uint8_t *p)

cdef enum:
    XERIAL_MAGIC_SIZE = 8
    XERIAL_HEADER_SIZE = 16
    SNAPPY_MAX_RATIO = 22        # a 3-byte copy makes at most 64 bytes
    SNAPPY_MAX_LITERAL = 60
    LZ4_MAGIC = 0x04224D18       # as big-endian
    LZ4_LEAST_HEADER = 7
    LZ4_VERSION = 0x40
    LZ4_INDEPENDENT = 0x20
    LZ4_CONTENT_SIZE = 0x08
    LZ4_BLOCK_CHECKSUM = 0x10
    LZ4_CONTENT_CHECKSUM = 0x04
    LZ4_RESERVED = 0x02
    LZ4_DICTIONARY = 0x01
    LZ4_STORED = 0x80000000
    LZ4_MAX_RATIO = 255
    LZ4_MAX_LITERAL = 14
    LZ4_FIRST_ROOM = 8 << 20     # beside what is stored: more is not believed at once
    ZSTD_MAGIC = 0xFD2FB528
    ZSTD_SKIPPABLE = 0x184D2A50
    ZSTD_MAX_WINDOW = 1 << 27
    ZSTD_MAX_BLOCK = 128 * 1024

cdef const uint8_t *XERIAL_MAGIC = b"\x82SNAPPY\x00"


ctypedef struct block_t:
    size_t at                    # where its bytes begin, and how many they are
    size_t size
    size_t next                  # where what follows begins
    bint stored                  # lz4: not compressed


def corrupt_stream(codec, what):
    """The CorruptError for bytes that are no stream of `codec`."""
    return _errors.CorruptError(f"not valid {codec} data: {what}")


def within_budget(claimed, budget, codec):
    """`claimed`, if it is not more than `budget`; raises LimitError if it is."""
    if claimed > budget:
        raise _errors.LimitError(f"{codec} data claims {claimed} decompressed bytes, more than the limit of {budget}")
    return claimed


def over_budget(codec, budget):
    """The LimitError for a stream whose content turned out to be larger than `budget`."""
    return _errors.LimitError(f"{codec} data decompresses to more than the limit of {budget} bytes")


# --- snappy ---

cdef bint _find_snappy_block(const uint8_t *data, size_t size, size_t at, block_t *block) except -1:
    """The block at `at`, or after the headers there; False at the end. Without a header all bytes are one block."""
    cdef int32_t length
    if size < XERIAL_MAGIC_SIZE or memcmp(data, XERIAL_MAGIC, XERIAL_MAGIC_SIZE) != 0:
        block.at = 0
        block.size = block.next = size
        return at == 0
    while at < size:
        if size - at >= XERIAL_MAGIC_SIZE and memcmp(data + at, XERIAL_MAGIC, XERIAL_MAGIC_SIZE) == 0:
            if size - at < XERIAL_HEADER_SIZE:
                raise corrupt_stream("snappy", "the xerial header is cut off")
            at += XERIAL_HEADER_SIZE
            continue
        if size - at < 4:
            raise corrupt_stream("snappy", f"{size - at} bytes are left where a block length should be")
        length = <int32_t>load_u32(data + at)
        at += 4
        if length <= 0 or <size_t>length > size - at:
            raise corrupt_stream("snappy", f"a block length of {length} with {size - at} bytes left")
        block.at = at
        block.size = <size_t>length
        block.next = at + block.size
        return True
    return False


cdef int64_t _snappy_claim(const uint8_t *p, size_t size) except -1:
    """The size that a raw block says it decompresses to: a little-endian varint of at most 32 bits in front."""
    cdef int64_t claim = 0
    cdef size_t i
    for i in range(min(size, 5)):
        claim |= <int64_t>(p[i] & 0x7F) << (7 * i)
        if p[i] < 0x80:
            if claim > <int64_t>(SNAPPY_MAX_RATIO * size):
                raise corrupt_stream("snappy", f"a block of {size} bytes cannot hold the {claim} bytes it claims")
            return claim
    raise corrupt_stream("snappy", "a block whose size field does not end")


def snappy_size(data):
    """The sum of the sizes that the blocks of a raw or xerial stream claim; CorruptError where it has none."""
    cdef Buffer source = pin(data)
    cdef block_t block
    cdef int64_t total = 0
    cdef size_t at = 0
    while _find_snappy_block(source.data, <size_t>source.size, at, &block):
        total += _snappy_claim(source.data + block.at, block.size)
        at = block.next
    return total


def next_snappy_block(data, size_t at, OutputBlock output not None):
    """(where it begins, its size, what it claims) of the next block at or after `at` that is for the library, or None.

    Those before it are written to `output`.
    """
    cdef Buffer source = pin(data)
    cdef const uint8_t *p
    cdef block_t block
    cdef int64_t claim
    while _find_snappy_block(source.data, <size_t>source.size, at, &block):
        p = source.data + block.at
        claim = _snappy_claim(p, block.size)
        if 0 < claim <= SNAPPY_MAX_LITERAL and block.size == <size_t>claim + 2 and p[1] == (claim - 1) << 2:
            output.append(p + 2, <size_t>claim)
        elif claim != 0 or block.size != 1:
            return block.at, block.size, claim
        at = block.next
    return None


# --- lz4 ---

def lz4_content(data, int64_t budget, int magic, decompress_into, refusal):
    """The content of a frame in message format `magic`, at most `budget` bytes of it.

    The library's `decompress_into(block, room)` writes what a block holds and returns its size, or raises a `refusal`.
    """
    cdef Buffer source = pin(data)
    cdef OutputBlock output
    cdef int flags
    cdef int64_t max_block
    cdef Py_ssize_t at, begin, size, end
    flags, max_block, content_size, at = lz4_header(source, magic)
    if content_size is not None:
        within_budget(content_size, budget, "lz4")
    stored, possible, end = lz4_sizes(source, at, flags & LZ4_BLOCK_CHECKSUM, max_block)
    output = OutputBlock(min(within_budget(stored, budget, "lz4") + LZ4_FIRST_ROOM, possible))
    while True:
        found = next_lz4_block(source, at, flags & LZ4_BLOCK_CHECKSUM, max_block, output, budget)
        if found is None:
            break
        begin, size, at = found
        _decompress_lz4(buffer_slice(source, begin, size), max_block, budget, output, decompress_into, refusal)
    _check_lz4_end(source, end, flags, content_size, output)
    return output.finish()


cdef int _decompress_lz4(Buffer block, int64_t max_block, int64_t budget, OutputBlock output, decompress_into,
                         refusal) except -1:
    cdef int64_t left = budget - output.size
    cdef int64_t possible = min(max_block, <int64_t>LZ4_MAX_RATIO * block.size)
    room = output.room(min(possible, left))
    try:
        output.advance(decompress_into(block, room))
    except refusal as error:
        raise (over_budget("lz4", budget) if left < possible else corrupt_stream("lz4", error)) from None
    return 0


cdef int _check_lz4_end(Buffer source, Py_ssize_t at, int flags, content_size, OutputBlock output) except -1:
    if content_size is not None and content_size != output.size:
        raise corrupt_stream("lz4", f"the frame claims {content_size} bytes and holds {output.size}")
    if flags & LZ4_CONTENT_CHECKSUM:
        if at + 4 > source.size:
            raise corrupt_stream("lz4", "the content checksum is cut off")
        if kw_load_le32(source.data + at) != kw_xxh32(0, kw_block_data(output.block), <size_t>output.size):
            raise corrupt_stream("lz4", "the content's checksum does not match")
        at += 4
    if at != source.size:
        raise corrupt_stream("lz4", f"{source.size - at} bytes after the frame")
    return 0


cdef tuple lz4_header(Buffer source, int magic):
    """(flags, greatest block size, content size or None, size of the header) of a frame in message format `magic`."""
    cdef const uint8_t *p = source.data
    cdef size_t size = <size_t>source.size
    cdef size_t end
    cdef uint8_t checksum
    if size < LZ4_LEAST_HEADER or load_u32(p) != LZ4_MAGIC:
        raise corrupt_stream("lz4", "no frame header")
    if p[4] & 0xC0 != LZ4_VERSION or p[4] & LZ4_RESERVED or p[5] & 0x8F or p[5] >> 4 < 4:
        raise corrupt_stream("lz4", f"frame descriptor 0x{p[4]:02x} 0x{p[5]:02x}")
    if not p[4] & LZ4_INDEPENDENT:
        raise corrupt_stream("lz4", "blocks that depend on each other, which Kafka does not allow")
    if p[4] & LZ4_DICTIONARY:
        raise corrupt_stream("lz4", "a frame that needs a dictionary")
    end = 14 if p[4] & LZ4_CONTENT_SIZE else 6
    if size <= end:
        raise corrupt_stream("lz4", "the frame header is cut off")
    checksum = p[end]
    if checksum != <uint8_t>(kw_xxh32(0, p + 4, end - 4) >> 8) and (
            magic != 0 or checksum != <uint8_t>(kw_xxh32(0, p, end) >> 8)):
        raise corrupt_stream("lz4", "the frame header's checksum does not match")
    content_size = None
    if p[4] & LZ4_CONTENT_SIZE:
        content_size = kw_load_le32(p + 6) | <uint64_t>kw_load_le32(p + 10) << 32
    return p[4], 1 << (8 + 2 * (p[5] >> 4)), content_size, end + 1


cdef bint _find_lz4_block(const uint8_t *data, size_t size, size_t at, bint has_checksum, size_t max_block,
                          block_t *block) except -1:
    """The block at `at`; False where the end mark is, with `block.next` after it."""
    cdef size_t checksum_size = 4 if has_checksum else 0
    cdef uint32_t word
    if at > size or size - at < 4:
        raise corrupt_stream("lz4", "the frame ends without an end mark")
    word = kw_load_le32(data + at)
    at += 4
    block.at = block.next = at
    if word == 0:
        return False
    block.size = word & ~<uint32_t>LZ4_STORED
    block.stored = block.size != word
    if block.size == 0 or block.size > max_block or block.size + checksum_size > size - at:
        raise corrupt_stream("lz4", f"a block of {block.size} bytes with {size - at} bytes left and a limit of "
                                    f"{max_block}")
    block.next = at + block.size + checksum_size
    return True


cdef tuple lz4_sizes(Buffer source, size_t at, bint has_checksums, size_t max_block):
    """(bytes that are stored as they are, the most that all blocks can hold, where the end mark ends)."""
    cdef block_t block
    cdef uint64_t stored = 0, possible = 0
    while _find_lz4_block(source.data, <size_t>source.size, at, has_checksums, max_block, &block):
        stored += block.size if block.stored else 0
        possible += block.size if block.stored else min(max_block, LZ4_MAX_RATIO * block.size)
        at = block.next
    return stored, possible, block.next


cdef tuple next_lz4_block(Buffer source, size_t at, bint has_checksums, size_t max_block, OutputBlock output,
                          int64_t budget):
    """(where it begins, its size, where the next begins) of the next block for the library from `at` on, or None.

    Those before it are written to `output`, whose size stays within `budget`.
    """
    cdef const uint8_t *p
    cdef block_t block
    while _find_lz4_block(source.data, <size_t>source.size, at, has_checksums, max_block, &block):
        p = source.data + block.at
        if has_checksums and kw_load_le32(p + block.size) != kw_xxh32(0, p, block.size):
            raise corrupt_stream("lz4", "a block's checksum does not match")
        if block.stored:
            _append_within(output, p, block.size, budget)
        elif block.size <= 1 + LZ4_MAX_LITERAL and p[0] == (block.size - 1) << 4:
            _append_within(output, p + 1, block.size - 1, budget)
        else:
            return block.at, block.size, block.next
        at = block.next
    return None


cdef int _append_within(OutputBlock output, const uint8_t *p, size_t size, int64_t budget) except -1:
    if <int64_t>size > budget - output.size:
        raise over_budget("lz4", budget)
    return output.append(p, size)


# --- zstd ---

ctypedef struct zstd_frame_t:
    bint has_size
    bint has_checksum
    uint64_t content_size
    size_t first                 # where the first block begins


cdef int _read_zstd_header(const uint8_t *data, size_t size, size_t at, zstd_frame_t *frame) except -1:
    """The header of the frame whose descriptor is at `at`, where a byte is."""
    cdef uint8_t descriptor = data[at]
    cdef bint is_single = (descriptor & 0x20) != 0
    cdef size_t size_of_size = (1 if is_single else 0) if descriptor >> 6 == 0 else <size_t>1 << (descriptor >> 6)
    cdef size_t size_of_dictionary = 4 if descriptor & 3 == 3 else descriptor & 3
    cdef uint64_t window
    cdef size_t i
    if descriptor & 0x08:
        raise corrupt_stream("zstd", "a reserved bit of the frame header is set")
    frame.first = at + 1 + (0 if is_single else 1) + size_of_dictionary + size_of_size
    if frame.first > size:
        raise corrupt_stream("zstd", "the frame header is cut off")
    frame.has_size = size_of_size != 0
    frame.has_checksum = (descriptor & 0x04) != 0
    frame.content_size = 0
    for i in range(size_of_size):
        frame.content_size |= <uint64_t>data[frame.first - size_of_size + i] << (8 * i)
    if size_of_size == 2:
        frame.content_size += 256
    if is_single:
        window = frame.content_size
    else:
        window = (<uint64_t>1 << (10 + (data[at + 1] >> 3))) // 8 * (8 + (data[at + 1] & 7))
    if window > ZSTD_MAX_WINDOW:
        raise _errors.LimitError(f"zstd data asks for a window of {window} bytes, more than {<int>ZSTD_MAX_WINDOW}")
    return 0


cdef size_t _walk_zstd_blocks(const uint8_t *data, size_t size, size_t at, uint64_t *min_size,
                              uint64_t *possible) except 0:
    """Where the last block ends; adds what the blocks hold at least, and what they can hold."""
    cdef uint32_t word
    cdef int kind
    while True:
        if size - at < 3:
            raise corrupt_stream("zstd", "the last block is missing")
        word = data[at] | <uint32_t>data[at + 1] << 8 | <uint32_t>data[at + 2] << 16
        kind = (word >> 1) & 3
        if kind == 3:
            raise corrupt_stream("zstd", "a block of the reserved type")
        at += 3
        if (1 if kind == 1 else word >> 3) > size - at:
            raise corrupt_stream("zstd", f"a block of {word >> 3} bytes goes beyond the end")
        at += 1 if kind == 1 else word >> 3
        min_size[0] += word >> 3 if kind < 2 else 0
        possible[0] += word >> 3 if kind < 2 else ZSTD_MAX_BLOCK
        if word & 1:
            return at


def zstd_ceiling(data, int64_t budget):
    """The most that all frames together can decompress to; frames and blocks are walked by their headers."""
    cdef Buffer source = pin(data)
    cdef const uint8_t *p = source.data
    cdef size_t size = <size_t>source.size
    cdef zstd_frame_t frame
    cdef uint64_t ceiling = 0, min_size, possible
    cdef uint32_t magic
    cdef size_t at = 0
    while at < size:
        if size - at < 8:
            raise corrupt_stream("zstd", f"{size - at} bytes are left where a frame should be")
        magic = kw_load_le32(p + at)
        if magic & 0xFFFFFFF0 == ZSTD_SKIPPABLE:
            if kw_load_le32(p + at + 4) > size - at - 8:
                raise corrupt_stream("zstd", f"a skippable frame of {kw_load_le32(p + at + 4)} bytes goes beyond "
                                             "the end")
            at += 8 + <size_t>kw_load_le32(p + at + 4)
            continue
        if magic != ZSTD_MAGIC:
            raise corrupt_stream("zstd", f"no frame begins with 0x{magic:08x}")
        _read_zstd_header(p, size, at + 4, &frame)
        if frame.has_size:
            _check_zstd_claim(ceiling, frame.content_size, budget)
        min_size = possible = 0
        at = _walk_zstd_blocks(p, size, frame.first, &min_size, &possible)
        _check_zstd_claim(ceiling, min_size, budget)
        at += 4 if frame.has_checksum else 0
        ceiling += min(frame.content_size, possible) if frame.has_size else possible
    return ceiling


cdef int _check_zstd_claim(uint64_t before, uint64_t more, int64_t budget) except -1:
    if budget < 0 or more > <uint64_t>budget or before > <uint64_t>budget - more:
        within_budget(<object>before + <object>more, budget, "zstd")
    return 0
