"""InitProducerId: fresh ids. Transactional ids are tested in `test_transactions.py`."""

from __future__ import annotations

import pytest

from kwire.protocol import InitProducerIdRequest
from tests.testing.in_process import InProcess


@pytest.mark.parametrize("version", range(6))
def test_every_producer_gets_an_id_of_its_own(version: int) -> None:
    broker = InProcess()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    given = [broker.ask(request, version) for _ in range(3)]
    assert [(answer.error_code, answer.producer_epoch) for answer in given] == [(0, 0)] * 3
    assert len({answer.producer_id for answer in given}) == 3
