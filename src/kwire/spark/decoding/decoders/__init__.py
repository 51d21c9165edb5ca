"""The formats of `decoder` and `keyDecoder`, one module each, with a function `parse(settings) -> Format`.

Modules import Arrow only inside what `open()` runs; `kwire.spark.decoding.decoding` says what a Format is.
"""
