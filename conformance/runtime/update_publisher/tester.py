"""The tester of an update publisher: connects devices, and reads the updates about them."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from conformance.definitions.keywords import short_json
from conformance.harness.deadlines import Countdown, countdown_from
from conformance.runtime.numbers import is_same
from conformance.runtime.shapes import UPDATE, mark
from conformance.runtime.tester import run_operation
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

ROUNDS = 5  # updates within which a change must be sent
DEVICE_CHECK_INTERVAL = 1.0  # seconds; a publisher can search for devices so rarely


def new_uids() -> tuple[str, str, str]:
    """Return three unused UIDs, of 62, 34 and 64 bits. Wider ones are update.uid-width."""
    one, other, largest = (str(2**bits - 1 - secrets.randbits(24)) for bits in (62, 34, 64))
    return one, other, largest


async def connect(
    session: Session, uid: str, params: dict[str, Any], alias: str | None = None
) -> None:
    named = {"alias": alias} if alias is not None and has_aliases(session) else {}
    await run_operation(session, "connect", uid=uid, params=params, **named)


def has_aliases(session: Session) -> bool:
    """Return True unless the publisher declares that it does not support aliases."""
    return "aliases" not in session.instance.configuration.unsupported


async def change(session: Session, uid: str, values: dict[str, Any]) -> None:
    await run_operation(session, "change", uid=uid, values=values)


def devices(message: Message) -> dict[str, Any]:
    return _members(message.value.get("sd"))


def aliases(message: Message) -> dict[str, Any]:
    return _members(message.value.get("aliases"))


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) and not mark(value) else {}


_PARTS = {"sd": (devices, "update.all-uids"), "aliases": (aliases, "update.aliases")}
"""By part of an update: its entries by UID, and the requirement that a missing entry violates."""


async def expect_update(
    session: Session,
    expected: str,
    holds: Callable[[Message], bool],
    requirement: str | None = None,
) -> Message:
    """Return the latest update, or the next one, that meets a condition.

    Raises Violation if no such update arrives in time. If other updates arrive, the timeout is not
    extended: the publisher is not slow.
    """
    latest = [message for message in session.received if message.name == UPDATE][-1:]
    # Skip the updates before the latest one, so that no later check finds them.
    while session.unread_messages(UPDATE):
        await session.wait_for(UPDATE)
    if latest and holds(latest[0]):
        return latest[0]
    within = change_deadline(session)

    async def comes_in_time() -> bool:
        while session.unread_messages(UPDATE) and (update := await session.wait_for(UPDATE)):
            latest[:] = [update]
            if holds(update):
                return True
        return False

    try:
        latest[:] = [await session.expect(UPDATE, within=within)]
    except Violation as missing:
        came = f"the last update was {short_json(latest[0].value)}" if latest else missing.came
        raise Violation(expected, came, requirement) from missing
    if holds(latest[0]) or await session.poll_until(
        comes_in_time, "an update of it", within, requirement
    ):
        return latest[0]
    raise Violation(expected, f"the last update was {short_json(latest[0].value)}", requirement)


def change_deadline(session: Session) -> Countdown:
    """Return the time within which a change must be sent.

    The time is not extended if enough updates have arrived without the change. The time ends if
    enough messages have arrived that are not updates.
    """
    rounds: list[float | str] = [DEVICE_CHECK_INTERVAL, *ROUNDS * ["update"]]
    whole = session.countdown("response", *rounds)
    # A publisher that has sent this many updates was not delayed by a busy machine.
    least = countdown_from(session.instance.configuration.total(*rounds))
    before, others = _received_counts(session)

    def left() -> float:
        updates, came = _received_counts(session)
        if came >= others + 2 * ROUNDS:
            return 0.0
        return min(whole(), least()) if updates >= before + 2 * ROUNDS else whole()

    return left


def _received_counts(session: Session) -> tuple[int, int]:
    """Return the number of received updates, and the number of other messages."""
    updates = sum(message.name == UPDATE for message in session.received)
    return updates, len(session.received) - updates


async def expect_listed(
    session: Session, *uids: str, part: str = "sd", form: str = "update.uid-form"
) -> Message:
    """Return the first update whose part of this name contains all these devices.

    Raises Violation of ``form`` if other UIDs were sent, else of the requirement for missing
    entries. If no update is sent any more, the requirement under test is violated.
    """
    among, missing_entry = _PARTS[part]
    before = sum(message.name == UPDATE for message in session.received)
    expected = f"an update with the devices {', '.join(uids)} in {part}"
    try:
        return await expect_update(
            session, expected, lambda message: set(uids) <= among(message).keys()
        )
    except Violation as missing:
        updates = [message for message in session.received if message.name == UPDATE]
        if before and len(updates) == before:
            raise Violation(
                missing.expected, f"received no further update; {missing.came}"
            ) from missing
        others = updates and among(updates[-1]).keys() - set(uids)
        missing.requirement = form if others else missing_entry
        raise


def check_in_each(session: Session, uid: str, since: Message) -> None:
    """Raise Violation of update.all-uids unless all updates from ``since`` on contain a device."""
    for message in session.received:
        if message.name == UPDATE and message.event >= since.event and uid not in devices(message):
            expected, about = f"{uid} in every update", "update.all-uids"
            raise Violation(expected, "the device was missing", about, message.event)


class KnownValues:
    """The latest value of each parameter of a device, from all updates of a session."""

    def __init__(self, session: Session, uid: str) -> None:
        self.session = session
        self.uid = uid

    def values(self) -> dict[str, Any]:
        latest: dict[str, Any] = {}
        for message in self.session.received:
            if message.name == UPDATE:
                latest |= _members(devices(message).get(self.uid))
        return latest

    def _all_values(self, param: str) -> Iterator[Any]:
        """Yield all values that a parameter of the device had."""
        for event in self.session.events:
            given = event.details.get("arguments", {})
            if given.get("uid") == self.uid:
                values = {**given.get("params", {}), **given.get("values", {})}
                yield from [values[param]] if param in values else []

    def unknown_names(self) -> set[str]:
        """Return the names of parameters that the device does not have, but that were sent."""
        return {name for name in self.values() if not [*self._all_values(name)]}

    def violated_requirement(self, wanted: dict[str, Any]) -> str | None:
        """Return update.values if all wrong values were sent but never set; else None.

        A value under a name that the device does not have was never set.
        """
        values = self.values()
        if self.unknown_names():
            return "update.values"
        wrong = [n for n in wanted if n not in values or not is_same(wanted[n], values[n])]
        never = all(
            n in values and not any(is_same(v, values[n]) for v in self._all_values(n))
            for n in wrong
        )
        return "update.values" if wrong and never else None

    async def expect_values(self, wanted: dict[str, Any], requirement: str | None = None) -> None:
        """Raise Violation unless these parameters are sent with these values in time.

        If all wrong values were never set, the violated requirement is update.values.
        """

        def holds(message: Message) -> bool:
            values = self.values()
            return all(name in values and is_same(wanted[name], values[name]) for name in wanted)

        try:
            await expect_update(self.session, "values to be sent", holds, requirement)
        except Violation as missing:
            values = self.values()
            requirement = self.violated_requirement(wanted) or requirement
            # The report contains only the wrong values, which can be few among many.
            wrong = {
                n: v for n, v in wanted.items() if n not in values or not is_same(v, values[n])
            }
            expected = f"{short_json(wrong)} to be sent for {self.uid}"
            came = short_json({name: values[name] for name in wrong if name in values})
            raise Violation(expected, f"received {came}", requirement) from missing
