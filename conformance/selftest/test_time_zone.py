"""The time zone in which an IUT runs."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest

from conformance.harness.instance import time_zone


@pytest.mark.skipif(not available_timezones(), reason="the system has no time zones")
@pytest.mark.parametrize("month", [1, 7])
def test_it_is_afternoon_at_any_time_of_the_year(month: int) -> None:
    for quarter in range(96):
        now = datetime(2026, month, 1, tzinfo=UTC) + timedelta(minutes=15 * quarter)
        local = now.astimezone(ZoneInfo(time_zone(now)))
        assert local.hour >= 13
        offset = local.utcoffset()
        assert offset is not None
        assert abs(offset) >= timedelta(hours=2)
