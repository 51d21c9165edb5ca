"""Tests of the comparison's own arithmetic. None of them measures time."""
