"""The version of the package, in one place; nothing else may live here."""

__version__ = "0.1.0"
