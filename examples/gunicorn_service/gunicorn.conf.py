"""Gunicorn's settings: the app is loaded once; each worker makes a producer after its fork and closes it at its end."""

from typing import Any

preload_app = True
workers = 3
threads = 4
graceful_timeout = 30


def post_fork(server: Any, worker: Any) -> None:
    from examples.gunicorn_service.app import open_producer

    open_producer()


def worker_exit(server: Any, worker: Any) -> None:
    """In the worker, after its last request: on SIGTERM, on a reload by SIGHUP, after --max-requests."""
    from examples.gunicorn_service.app import close_producer

    close_producer()
