"""How sources, readers and writers travel to executors: by a function that says what is wrong where kwire is missing.

Spark's Python workers unpickle what tasks run. A class is pickled by its name, so that a worker whose Python has no
kwire would say `No module named 'kwire'` and no more. The function is pickled by value, and needs nothing but Python.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import Any

from kwire._version import __version__


class Shipped:
    """A base of what Spark pickles into tasks: its attributes travel, and are there again under the same class."""

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        kind = type(self)
        made = (_Opener(), __version__, kind.__module__, kind.__qualname__, cloudpickle.dumps(self.__dict__))
        return operator.call, made


class _Opener:
    """`_opener()`, pickled by value whoever pickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        return pickle.loads, (cloudpickle.dumps(_opener()),)


def _opener() -> Callable[..., object]:
    """A function within a function is one that cloudpickle cannot name: it takes its code."""

    def open_shipped(version: str, module: str, name: str, attributes: bytes) -> object:
        import importlib
        import pickle
        import socket
        import sys

        where = f"{sys.executable} (Python {sys.version.split()[0]}) on {socket.gethostname()}"
        try:
            own = importlib.import_module("kwire")
        except ImportError as error:
            raise ImportError(
                f"kwire cannot be imported on an executor, by {where}: {error}. The driver has kwire {version}. "
                'Install "kwire[spark]" there, or ship an environment: --archives environment.tar.gz#environment with '
                "PYSPARK_PYTHON=./environment/bin/python. docs/spark.md tells which Python runs a source"
            ) from error
        if own.__version__ != version:
            raise ImportError(
                f"the driver has kwire {version}, and an executor kwire {own.__version__}, in {where}: "
                "both must have the same version"
            )
        importlib.import_module("kwire.spark.workers.heap").spare_imports()
        shipped = object.__new__(getattr(importlib.import_module(module), name))
        shipped.__dict__.update(pickle.loads(attributes))
        return shipped

    return open_shipped
