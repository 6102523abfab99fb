"""The tester of an update publisher: connects devices, and finds what the updates say of them."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

from conformance.definitions.keywords import equal, shown
from conformance.harness.deadlines import Left, counting
from conformance.runtime.shapes import UPDATE, mark
from conformance.runtime.tester import done
from conformance.session import Session
from conformance.verdicts import Violation
from conformance.wire import Message

ROUNDS = 5  # updates in which something has to show
LINGERING = 1.0  # seconds in which a publisher may look but once for devices that come and go


def new_uids() -> tuple[str, str, str]:
    """UIDs that no device has had: beyond 64 bits, beyond 32, and of all 88."""
    one, other, largest = (str(2**bits - 1 - secrets.randbits(24)) for bits in (66, 34, 88))
    return one, other, largest


async def connect(
    session: Session, uid: str, params: dict[str, Any], alias: str | None = None
) -> None:
    named = {"alias": alias} if alias is not None and has_aliases(session) else {}
    await done(session, "connect", uid=uid, params=params, **named)


def has_aliases(session: Session) -> bool:
    """Whether the publisher does not declare that it leaves out aliases."""
    return "aliases" not in session.instance.configuration.unsupported


async def change(session: Session, uid: str, values: dict[str, Any]) -> None:
    await done(session, "change", uid=uid, values=values)


def devices(message: Message) -> dict[str, Any]:
    return _members(message.value.get("sd"))


def aliases(message: Message) -> dict[str, Any]:
    return _members(message.value.get("aliases"))


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) and not mark(value) else {}


_PARTS = {"sd": (devices, "update.all-uids"), "aliases": (aliases, "update.aliases")}
"""By part of an update: what it has by UID, and what is violated where that lacks one."""


async def until(
    session: Session,
    expected: str,
    holds: Callable[[Message], bool],
    requirement: str | None = None,
) -> Message:
    """The latest update, or the first from now on, for which it holds.

    Raises Violation where none comes: at once when the time is over, if updates come, for then it
    is not their publisher that is late.
    """
    latest = [message for message in session.received if message.name == UPDATE][-1:]
    # Those before it are over: no later look is to find them.
    while session.ahead(UPDATE):
        await session.watch(UPDATE)
    if latest and holds(latest[0]):
        return latest[0]
    within = soon(session)

    async def comes() -> bool:
        while session.ahead(UPDATE) and (update := await session.watch(UPDATE)):
            latest[:] = [update]
            if holds(update):
                return True
        return False

    try:
        latest[:] = [await session.expect(UPDATE, within=within)]
    except Violation as missing:
        came = f"the last update was {shown(latest[0].value)}" if latest else missing.came
        raise Violation(expected, came, requirement) from missing
    if holds(latest[0]) or await session.shows(comes, "an update of it", within, requirement):
        return latest[0]
    raise Violation(expected, f"the last update was {shown(latest[0].value)}", requirement)


def soon(session: Session) -> Left:
    """The time in which something has to show in the next updates.

    It ends early where so many of them have come without it that their publisher is not late, and
    at once where as many have come that are none.
    """
    rounds: list[float | str] = [LINGERING, *ROUNDS * ["update"]]
    whole = session.left("response", *rounds)
    # Who sends so many meanwhile has not been kept from it by a busy machine.
    least = counting(session.instance.configuration.total(*rounds))
    before, others = _counts(session)

    def left() -> float:
        updates, came = _counts(session)
        if came >= others + 2 * ROUNDS:
            return 0.0
        return min(whole(), least()) if updates >= before + 2 * ROUNDS else whole()

    return left


def _counts(session: Session) -> tuple[int, int]:
    """How many updates have come, and how many messages that are none."""
    updates = sum(message.name == UPDATE for message in session.received)
    return updates, len(session.received) - updates


async def listed(session: Session, *uids: str, part: str = "sd") -> Message:
    """The first update whose part of this name has these devices, which are all that belong there.

    Where it does not come the UIDs are written in another way, if others have come, or left out.
    """
    among, lacking = _PARTS[part]
    expected = f"an update with the devices {', '.join(uids)} in {part}"
    try:
        return await until(session, expected, lambda message: set(uids) <= among(message).keys())
    except Violation as missing:
        updates = [message for message in session.received if message.name == UPDATE]
        others = updates and among(updates[-1]).keys() - set(uids)
        wrong = "update.uid-form" if others else lacking
        raise Violation(missing.expected, missing.came, wrong) from missing


def in_each(session: Session, uid: str, since: Message) -> None:
    """Raise Violation of update.all-uids unless a device is in every update from one on."""
    for message in session.received:
        if message.name == UPDATE and message.event >= since.event and uid not in devices(message):
            expected, about = f"{uid} in every update", "update.all-uids"
            raise Violation(expected, "it was not there", about, message.event)


class Told:
    """What all updates of a session together say of a device's parameters: the latest of each."""

    def __init__(self, session: Session, uid: str) -> None:
        self.session = session
        self.uid = uid

    def values(self) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for message in self.session.received:
            if message.name == UPDATE:
                told |= _members(devices(message).get(self.uid))
        return told

    def _given(self, param: str) -> Iterator[Any]:
        """The values that a parameter of the device was given."""
        for event in self.session.events:
            given = event.details.get("arguments", {})
            if given.get("uid") == self.uid:
                values = {**given.get("params", {}), **given.get("values", {})}
                yield from [values[param]] if param in values else []

    def about(self, wanted: dict[str, Any]) -> str | None:
        """update.values where all that is not as wanted was told and never given."""
        told = self.values()
        wrong = [n for n in wanted if n not in told or not equal(wanted[n], told[n])]
        never = all(n in told and not any(equal(told[n], v) for v in self._given(n)) for n in wrong)
        return "update.values" if wrong and never else None

    async def comes_to(self, wanted: dict[str, Any], requirement: str | None = None) -> None:
        """Raise Violation unless these parameters are sent with these values in time.

        Of update.values, whatever it is laid to, where all that is wrong it was never given.
        """

        def holds(message: Message) -> bool:
            told = self.values()
            return all(name in told and equal(wanted[name], told[name]) for name in wanted)

        try:
            await until(self.session, "values to be sent", holds, requirement)
        except Violation as missing:
            told = self.values()
            requirement = self.about(wanted) or requirement
            # Only what is wrong, of which there may be little among much.
            lost = {n: v for n, v in wanted.items() if n not in told or not equal(v, told[n])}
            expected = f"{shown(lost)} to be sent for {self.uid}"
            came = shown({name: told[name] for name in lost if name in told})
            raise Violation(expected, f"{came} was", requirement) from missing
