"""UnregisterBroker: a broker that will not come back is forgotten, asked of the controller. Layer 3, no I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kwire import errors, protocol
from kwire._typing import TYPE_CHECKING, override
from kwire.engine.calls.fan_out import AdminApi
from kwire.engine.calls.lookup import Controller
from kwire.engine.calls.refusals import said
from kwire.schema.api_keys import UNREGISTER_BROKER
from kwire.schema.error_codes import BROKER_ID_NOT_REGISTERED

if TYPE_CHECKING:
    from kwire.engine.ports import Services


class UnregisterBroker(AdminApi[int, None]):
    """Forgets the broker; the result is None."""

    api_key = UNREGISTER_BROKER
    means_done = frozenset({BROKER_ID_NOT_REGISTERED})
    when_too_old = "with ZooKeeper a broker is forgotten by itself when it has stopped"

    def __init__(self, broker: int) -> None:
        self.what = f"UnregisterBroker of {broker}"
        self.lookup = Controller()
        self._broker = broker

    @override
    def split(self, core: Services) -> Sequence[int]:
        return [self._broker]

    @override
    def request(self, core: Services, keys: Sequence[int], version: int) -> protocol.UnregisterBrokerRequest:
        return protocol.UnregisterBrokerRequest(broker_id=self._broker)

    @override
    def result(
        self, keys: Sequence[int], response: protocol.UnregisterBrokerResponse, version: int
    ) -> Mapping[int, None]:
        if response.error_code:
            raise errors.broker.error_for(response.error_code, said(self.what, response.error_message))
        return dict.fromkeys(keys)
