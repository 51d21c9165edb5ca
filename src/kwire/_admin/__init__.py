"""The calls of `kwire.Admin`, a class for each subject. Layer 5: signatures and docstrings.

What is asked of whom is in `kwire.engine.admin`.
"""
