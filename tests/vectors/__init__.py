"""Byte strings explained by hand, each with the document that its layout comes from."""


def spelled(text: str) -> bytes:
    """The bytes of a listing in hexadecimal; what follows a # is an explanation."""
    return bytes.fromhex("".join(line.split("#")[0] for line in text.splitlines()))
