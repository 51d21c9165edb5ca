"""What answers may ask for in time: pauses."""

from __future__ import annotations

from kwire.engine.common.pace import MAX_THROTTLE_S, Throttling, throttle_s


def test_a_pause_that_no_broker_can_mean_is_cut() -> None:
    assert [throttle_s(ms) for ms in (-5, 0, 1500, 2**31 - 1)] == [0.0, 0.0, 1.5, MAX_THROTTLE_S]
    throttling = Throttling()
    throttling.count(2**31 - 1)
    assert throttling.longest == MAX_THROTTLE_S
