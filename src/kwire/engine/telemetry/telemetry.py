"""The telemetry of a client (KIP-714): asks a broker which metrics it wants, and pushes these at its interval.

Layer 3, no I/O. What is measured is passed in (`collect`), as it is at a moment.

States, and what may follow each, printed from MOVES:

    state         what it is                                                may be followed by
    UNSUBSCRIBED  no broker has said yet what it wants, or it wants         ASKING, ENDED
                  nothing
    ASKING        a broker is asked                                         SUBSCRIBED, UNSUBSCRIBED, ENDED
    SUBSCRIBED    waits for the next push                                   PUSHING, ENDING
    PUSHING       metrics are on their way                                  SUBSCRIBED, UNSUBSCRIBED, ENDING, ENDED
    ENDING        the last push is on its way                               ENDED
    ENDED         nothing is pushed any more

Nothing here may cost the client's own work: requests go over a connection of their own, to one broker, so that one
that does not answer holds up nothing else; what a broker says about time and size is bounded (`subscription.py`); what
fails is not tried again before an interval has passed; a client that closes waits a moment for its last push.

Totals are cumulative, or what they have grown by since the last push that a broker took. Errors, as KIP-714 has them:

    UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE   asks again, at once; the next time after an interval
    TELEMETRY_TOO_LARGE                                     the next message is half as large
    INVALID_REQUEST, INVALID_RECORD, UNSUPPORTED_VERSION    pushes no more
    all others (THROTTLING_QUOTA_EXCEEDED)                  goes on after an interval
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import inf
from uuid import UUID

from kwire import protocol
from kwire._codec import Timer
from kwire._typing import TYPE_CHECKING, NamedTuple, override
from kwire.compression import CODECS, compress
from kwire.engine.common.lifecycle import Lifecycle, Moves, State
from kwire.engine.common.pace import throttle_s
from kwire.engine.common.recovery import Recoverable
from kwire.engine.common.request import ANY, Purpose, Request
from kwire.engine.telemetry.otlp import Sample, Tags, Times, encode
from kwire.engine.telemetry.subscription import DEFAULT_INTERVAL_S, Subscription
from kwire.errors import BrokerError, KafkaError
from kwire.errors import broker as codes
from kwire.errors.wording import SettingName, Wording
from kwire.schema.api_keys import GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY
from kwire.schema.fields import NO_UUID

if TYPE_CHECKING:
    from typing import Protocol

    from kwire.engine.common.addresses import Address
    from kwire.engine.ports import Services

    class TelemetryServices(Services, Protocol):
        """What it asks of the core."""

        def node_at(self, address: Address) -> int | None: ...


UNSUBSCRIBED = "unsubscribed"
ASKING = "asking"
SUBSCRIBED = "subscribed"
PUSHING = "pushing"
ENDING = "ending"
ENDED = "ended"

_CLOSES = "the client closes, or a broker wants no more"

MOVES: Moves = {
    UNSUBSCRIBED: State(
        "no broker has said yet what it wants, or it wants nothing", {ASKING: "in its time", ENDED: _CLOSES}
    ),
    ASKING: State(
        "a broker is asked",
        {SUBSCRIBED: "it wants metrics", UNSUBSCRIBED: "it wants none, or the question failed", ENDED: _CLOSES},
    ),
    SUBSCRIBED: State("waits for the next push", {PUSHING: "in its time", ENDING: "the client closes"}),
    PUSHING: State(
        "metrics are on their way",
        {
            SUBSCRIBED: "they were taken, or are not sent again",
            UNSUBSCRIBED: "the subscription is another one by now",
            ENDING: "the client closes",
            ENDED: _CLOSES,
        },
    ),
    ENDING: State("the last push is on its way", {ENDED: "it is answered, or nobody waits any more"}),
    ENDED: State("nothing is pushed any more", {}),
}

RETRY_S = 30.0
"""Seconds after which a first question that failed is asked again."""

_ASK_AGAIN = {codes.UNKNOWN_SUBSCRIPTION_ID.code, codes.UNSUPPORTED_COMPRESSION_TYPE.code}
_FATAL = {codes.INVALID_REQUEST.code, codes.INVALID_RECORD.code, codes.UNSUPPORTED_VERSION.code}

Totals = dict[tuple[str, Tags], float]


class Collected(NamedTuple):
    """What a client has measured, and what it is."""

    samples: Iterable[Sample]
    resource: Mapping[str, str]


Collect = Callable[[], Collected]


class Telemetry(Lifecycle, Recoverable):
    """Of one client. `refusal` is why brokers take nothing of it, where they have said so."""

    MOVES = MOVES

    def __init__(self, core: TelemetryServices, collect: Collect) -> None:
        self.state = UNSUBSCRIBED
        self.client_instance_id: UUID | None = None
        self.refusal: KafkaError | None = None
        self._core = core
        self._collect = collect
        self._subscription: Subscription | None = None
        self._max_bytes = 0
        self._asked_again = False
        self._pushed: Totals = {}
        self._on_the_way: Totals = {}
        self._pushed_at = 0.0
        self._looked_at = 0.0
        self._sent_at = -inf
        self._broker: Address | None = None
        self._request: Request | None = None
        self._timer: Timer | None = core.call_at(0.0, self.begin)
        self.recover_with(core)

    def begin(self, now: float) -> None:
        """Asks what a broker wants, unless that was done; with the first step of the client by itself."""
        if self.state == UNSUBSCRIBED and self.client_instance_id is None and self.refusal is None:
            self._ask(now)

    @property
    def has_last_push(self) -> bool:
        """Whether a client that closes has something to push."""
        return self.state in {SUBSCRIBED, PUSHING}

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.state == ENDED

    def end(self, now: float) -> None:
        """The client closes: pushes for the last time, where there is a subscription."""
        if self.state == PUSHING:
            self._count_as_pushed()
        if self.has_last_push:
            self._set_timer(None)
            self.move(ENDING)
            self._push(now, terminating=True)
        elif self.state in {UNSUBSCRIBED, ASKING}:
            self._stop()

    def give_up(self, now: float) -> None:
        """Nobody waits for the last push any more."""
        if self.state == ENDING:
            self._stop()

    @override
    def recover(self, now: float) -> None:
        """Nothing is in flight; a timer may be missing."""
        if self.state == ENDING:
            self._stop()
        elif self.state in {ASKING, PUSHING}:
            self._go_on(now, self._interval)
        elif self.state != ENDED and (self._timer is None or not self._timer.active):
            self._wait(now, self._interval)

    # -- the question -----------------------------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        if self.state != UNSUBSCRIBED:
            return
        self._pushed_at = self._pushed_at or self._core.wall_clock()
        self.move(ASKING)
        message = protocol.GetTelemetrySubscriptionsRequest(client_instance_id=self.client_instance_id or NO_UUID)
        self._send(GET_TELEMETRY_SUBSCRIPTIONS, message, self._on_subscription, now)

    def _on_subscription(self, response: protocol.GetTelemetrySubscriptionsResponse, version: int, now: float) -> None:
        if self.state != ASKING:
            return
        self._note_broker()
        if response.error_code:
            self._on_code(response.error_code, response.throttle_time_ms, now)
            return
        found = Subscription.of(response)
        if self._subscription is None or self._subscription.delta != found.delta:
            self._pushed = {}
        self._subscription, self._max_bytes = found, found.max_bytes
        self.client_instance_id = self.client_instance_id or found.client_instance_id
        self.refusal = None
        if not found.prefixes or self.client_instance_id is None:
            self._go_on(now, found.interval, response.throttle_time_ms)
            return
        self.move(SUBSCRIBED)
        spread = found.interval * (0.5 + self._core.rng())
        self._wait(now, max(spread, self._sent_at + found.interval - now), response.throttle_time_ms)

    # -- the push ---------------------------------------------------------------------------------------------------

    def _push_in_time(self, now: float) -> None:
        if self.state == SUBSCRIBED:
            self.move(PUSHING)
            self._push(now, terminating=False)

    def _push(self, now: float, *, terminating: bool) -> None:
        wanted = self._subscription
        self._sent_at = now
        assert wanted is not None
        assert self.client_instance_id is not None
        collected, self._looked_at = self._collect(), self._core.wall_clock()
        samples = [sample for sample in collected.samples if wanted.wants(sample.name)]
        self._on_the_way = {(sample.name, sample.tags): sample.value for sample in samples if sample.total}
        if wanted.delta:
            samples = [self._grown(sample) for sample in samples]
        times = Times(self._pushed_at, self._looked_at)
        data = encode(samples, collected.resource, times, delta=wanted.delta, max_bytes=self._max_bytes)
        message = protocol.PushTelemetryRequest(
            client_instance_id=self.client_instance_id,
            subscription_id=wanted.subscription_id,
            terminating=terminating,
            compression_type=wanted.codec,
            metrics=compress(CODECS[wanted.codec], data),
        )
        self._send(PUSH_TELEMETRY, message, self._on_pushed, now)

    def _grown(self, sample: Sample) -> Sample:
        if not sample.total:
            return sample
        return sample._replace(value=max(sample.value - self._pushed.get((sample.name, sample.tags), 0.0), 0.0))

    def _count_as_pushed(self) -> None:
        """What is on its way does not go into the next push."""
        self._pushed = self._on_the_way
        if self._subscription is not None and self._subscription.delta:
            self._pushed_at = self._looked_at

    def _on_pushed(self, response: protocol.PushTelemetryResponse, version: int, now: float) -> None:
        if self.state == ENDING:
            self._stop()
        if self.state != PUSHING:
            return
        if response.error_code:
            self._on_code(response.error_code, response.throttle_time_ms, now)
            return
        self._asked_again = False
        self._count_as_pushed()
        self._go_on(now, self._interval, response.throttle_time_ms)

    # -- what goes wrong --------------------------------------------------------------------------------------------

    def _on_code(self, code: int, throttle_ms: int, now: float) -> None:
        error = codes.error_for(code, "telemetry of this client")
        if code in _FATAL:
            self._refuse(error)
            self._stop()
        elif code in _ASK_AGAIN:
            at_once, self._asked_again = not self._asked_again, True
            if self.state == PUSHING:
                self.move(UNSUBSCRIBED)
            self._go_on(now, 0.0 if at_once else self._interval, throttle_ms)
        else:
            if code == codes.TELEMETRY_TOO_LARGE.code:
                self._max_bytes //= 2
            self._go_on(now, self._interval, throttle_ms)

    def _on_error(self, error: KafkaError, now: float) -> None:
        """No answer: perhaps from another broker, next time."""
        self._broker = None
        if self.state == ENDING or (self._core.closed and self.state != ENDED):
            self._stop()
        elif self.state in {ASKING, PUSHING}:
            is_refused = isinstance(error, BrokerError) and error.code == codes.UNSUPPORTED_VERSION.code
            if is_refused:
                self._refuse(error)
            is_first = self.state == ASKING and self._subscription is None
            self._go_on(now, RETRY_S if is_first and not is_refused else self._interval)

    def _refuse(self, error: KafkaError) -> None:
        if self.refusal is None:
            setting = SettingName("enable_metrics_push")
            text = "the metrics of this client are not pushed ({setting}): {error}"
            self._core.warn(Wording(text, setting=setting, error=str(error)))
        self.refusal = error

    # -- help -------------------------------------------------------------------------------------------------------

    @property
    def _interval(self) -> float:
        return DEFAULT_INTERVAL_S if self._subscription is None else self._subscription.interval

    def _go_on(self, now: float, seconds: float, throttle_ms: int = 0) -> None:
        """Nothing is on its way; the next is sent after so many seconds."""
        if self.state == ASKING:
            self.move(UNSUBSCRIBED)
        elif self.state == PUSHING:
            self.move(SUBSCRIBED)
        self._wait(now, seconds, throttle_ms)

    def _wait(self, now: float, seconds: float, throttle_ms: int = 0) -> None:
        then = self._ask if self.state == UNSUBSCRIBED else self._push_in_time
        self._set_timer(self._core.call_at(now + max(seconds, throttle_s(throttle_ms)), then))

    def _set_timer(self, timer: Timer | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _send(self, api_key: int, message: object, on_response: Callable[..., None], now: float) -> None:
        """To the broker that has answered before, as long as there is one."""
        target = ANY if self._broker is None else self._core.node_at(self._broker)
        self._request = self._core.request(
            ANY if target is None else target,
            api_key,
            message,
            on_response,
            self._on_error,
            now,
            purpose=Purpose.TELEMETRY,
        )

    def _note_broker(self) -> None:
        self._broker = None if self._request is None else self._request.asked

    def _stop(self) -> None:
        self.move(ENDED)
        self._set_timer(None)
        self.recover_no_more(self._core)
