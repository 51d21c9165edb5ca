"""Fixtures that every test folder may use."""

pytest_plugins = ("tests.brokers.plugin", "tests.oracle.plugin")
