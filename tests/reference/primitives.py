"""Variable-length integers as KIP-482 and the record batch format describe them, one byte at a time."""


def uvarint(value: int) -> bytes:
    """Base 128, least significant group first; the high bit says that another byte follows."""
    out = bytearray()
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    out.append(value)
    return bytes(out)


def zigzag(value: int) -> int:
    """0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ..."""
    return 2 * value if value >= 0 else -2 * value - 1


def read_uvarint(data: bytes, at: int) -> tuple[int, int]:
    """The value and the position behind it."""
    value, factor = 0, 1
    while data[at] >= 128:
        value += (data[at] - 128) * factor
        factor *= 128
        at += 1
    return value + data[at] * factor, at + 1


def unzigzag(value: int) -> int:
    return value // 2 if value % 2 == 0 else -(value + 1) // 2
