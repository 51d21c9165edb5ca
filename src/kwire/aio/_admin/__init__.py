"""The calls of `kwire.aio.Admin`, a class for each subject. Layer 5: signatures and docstrings.

What is asked of whom is in `kwire.engine.admin`. Written by `make docs`, from `kwire/_admin/`.
"""
