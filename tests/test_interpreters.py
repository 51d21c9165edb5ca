"""Other interpreters than the main one with its GIL: kwire works there, or its import says in words why it does not.

It works in one interpreter of a process, if that shares the GIL. On a free-threaded Python it turns the GIL on.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec

import pytest

from tests.subprocesses import run_python

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
INTERPRETERS = next((name for name in ("_interpreters", "_xxsubinterpreters") if find_spec(name)), None)

pytestmark = pytest.mark.skipif(os.environ.get("KWIRE_SANITIZED") == "1", reason="of builds as they are used")

BEGIN = f"""
import sys
import {INTERPRETERS} as interpreters

WORK = '''
import sys
sys.path[:] = {{path}}
from kwire import Consumer, Producer
from kwire.testing import Broker
with Broker(topics={{{{"t": 1}}}}) as broker:
    with Producer(broker.bootstrap_servers) as producer:
        producer.send("t", b"value").result(20)
    with Consumer(broker.bootstrap_servers, auto_offset_reset="earliest") as consumer:
        consumer.assign([("t", 0)])
        print([record.value for record in consumer.poll(20)], flush=True)
'''.format(path=sys.path)

def make(*, isolated):
    if sys.version_info >= (3, 13):
        return interpreters.create("isolated" if isolated else "legacy")
    return interpreters.create(isolated=isolated)

def run(work, *, isolated=False):
    '''Runs it in another interpreter; what it raised, in words.'''
    interpreter = make(isolated=isolated)
    try:
        if sys.version_info >= (3, 13):
            failure = interpreters.exec(interpreter, work)
            return "" if failure is None else failure.formatted
        interpreters.run_string(interpreter, work)
        return ""
    except interpreters.RunFailedError as error:
        return str(error)
    finally:
        interpreters.destroy(interpreter)
"""

needs_interpreters = pytest.mark.skipif(INTERPRETERS is None or FREE_THREADED, reason="no module makes interpreters")


@needs_interpreters
def test_clients_work_in_the_one_interpreter_that_imports_them() -> None:
    assert run_python(BEGIN + "print(repr(run(WORK)))") == "[b'value']\n''\n"


@needs_interpreters
def test_a_second_interpreter_is_refused_in_words_and_the_first_one_goes_on() -> None:
    code = BEGIN + "exec(WORK)\nprint(run(WORK))\nexec(WORK)"
    first, refusal, again = run_python(code).splitlines()
    assert first == again == "[b'value']"
    assert "ImportError" in refusal
    assert "this module can only be loaded into one interpreter per process" in refusal


@needs_interpreters
@pytest.mark.skipif(sys.version_info < (3, 12), reason="interpreters share the GIL before Python 3.12")
def test_an_interpreter_with_a_gil_of_its_own_is_refused_in_words() -> None:
    refusal = run_python(BEGIN + "print(run(WORK, isolated=True))")
    assert "ImportError" in refusal
    assert "kwire._codec does not support loading in subinterpreters" in refusal


@pytest.mark.skipif(not FREE_THREADED, reason="of free-threaded Pythons")
def test_a_free_threaded_python_turns_the_gil_on_and_says_so() -> None:
    code = """
        import sys
        import warnings
        with warnings.catch_warnings(record=True) as told:
            from kwire import records
        assert sys._is_gil_enabled()
        assert records.decode(records.encode([b"value"])).values() == [b"value"]
        print(told[0].message)
    """
    assert "GIL) has been enabled to load module 'kwire._codec'" in run_python(code)


@pytest.mark.skipif(not FREE_THREADED, reason="of free-threaded Pythons")
def test_without_the_gil_the_import_is_refused_in_words() -> None:
    code = """
        try:
            from kwire import records
        except ImportError as error:
            print(error)
    """
    assert "kwire needs the GIL" in run_python(code, PYTHON_GIL="0")
