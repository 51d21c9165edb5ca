"""One file per API of Admin, numbered by API key. Layer 3, no I/O.

Each describes its calls as an `AdminApi` that `kwire.engine.calls.fan_out` runs.
"""
