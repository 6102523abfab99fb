"""Unknown, malformed and unexpected input that any sane frontend survives."""

from typing import Any

import pytest

from conformance.cases import explore, requirement
from conformance.generation import NearMiss
from conformance.iut import Iut
from conformance.segmentation import whole
from conformance.vexide import strategies
from conformance.vexide.events import SIGNATURE, answer, drawing, log, motor_status, update
from conformance.vexide.frontend.tester import check_still_served, open_in_setup, open_session

MALFORMED = {
    "text": b"hello\n",
    "blank": b"\n",
    "carriage-return": b"\r\n",
    "open-object": b'{"Log": {"level": "Info"\n',
    "two-values": b'"ScreenRender" "ScreenRender"\n',
    "number": b"42\n",
    "null": b"null\n",
    "array": b'["ScreenRender"]\n',
    "empty-object": b"{}\n",
    "two-tags": b'{"VCodeSig": "", "Log": {"level": "Info", "message": ""}}\n',
    "not-utf-8": b'{"Log": {"level": "Info", "message": "\xff\xfe"}}\n',
    "byte-order-mark": b'\xef\xbb\xbf{"Log": {"level": "Info", "message": ""}}\n',
    "zero-byte": b"\0\n",
    "comment": b"// nothing\n",
    "deep": b"[" * 10_000 + b"]" * 10_000 + b"\n",
    "huge-number": b'{"Battery": {"voltage": 1e999, "current": 0, "capacity": 0}}\n',
    "not-a-number": b'{"RobotPose": {"x": NaN, "y": 0}}\n',
    "null-content": b'{"DeviceUpdate": null}\n',
    "missing-field": b'{"Log": {"message": "no level"}}\n',
    "wrong-type": b'{"Log": {"level": "Info", "message": 7}}\n',
    "no-base64": b'{"Serial": {"channel": 1, "data": "%%%"}}\n',
}


@requirement("robustness.malformed-line")
@pytest.mark.parametrize("line", MALFORMED)
async def test_malformed_line(iut: Iut, line: str) -> None:
    """A malformed line is ignored, logged, or ends the session, without a crash or hang."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send_bytes(MALFORMED[line])
        await check_still_served(iut, session, f"the line {MALFORMED[line][:60]!r}")


@requirement("robustness.malformed-line")
@explore(misses=strategies.misses("simulator"))
async def test_near_misses(iut: Iut, misses: list[NearMiss]) -> None:
    """Events with one error each are ignored, logged, or end the session."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(SIGNATURE)
        for miss in misses:
            await session.send(miss.value)
        wrong = "; ".join(miss.expected for miss in misses[:3])
        await check_still_served(iut, session, f"{len(misses)} events with one error each: {wrong}")


UNKNOWN: dict[str, Any] = {
    "unit": "Nothing",
    "struct": {"Nothing": {"x": [1, {"y": None}]}},
    "null": {"Nothing": None},
    "command": {"CompetitionMode": {"enabled": True}},
    "command-as-name": "StartExecution",
    "other-case": {"log": {"level": "Info", "message": ""}},
    "empty-name": {"": {}},
    "long-name": {"N" * 70_000: None},
}


@requirement("robustness.unknown-message")
@pytest.mark.parametrize("message", UNKNOWN)
async def test_unknown_message(iut: Iut, message: str) -> None:
    """An event with an unknown name is ignored, logged, or ends the session."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(UNKNOWN[message])
        await check_still_served(iut, session, f"the unknown event {str(UNKNOWN[message])[:40]}")


@requirement("robustness.unknown-fields")
@pytest.mark.parametrize("event", ["log", "motor", "motor-inner", "serial", "shape"])
async def test_unknown_fields(iut: Iut, event: str) -> None:
    """An unknown field anywhere in an event is ignored, logged, or ends the session."""
    async with open_in_setup(iut, starting=False) as session:
        events: dict[str, Any] = {
            "log": {"Log": {"level": "Info", "message": "", "time": 1.5}},
            "motor": update(session, motor_status()),
            "motor-inner": update(session, motor_status(temperature={"celsius": 25})),
            "serial": {"Serial": {"channel": 1, "data": "", "baud": None}},
            "shape": drawing({"Fill": {"shape": {"Pixel": {"pos": {"x": 1, "y": 1, "z": 0}}}}}),
        }
        events["motor"]["DeviceUpdate"]["time"] = [1]
        await session.send(events[event])
        await check_still_served(iut, session, "an unknown field")


@requirement("robustness.unknown-fields")
@explore(events=strategies.messages("simulator"))
async def test_any_valid_events(iut: Iut, events: list[Any]) -> None:
    """Valid events without sense, and with unknown fields, do not break the session."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(*events)
        await check_still_served(iut, session, f"{len(events)} valid events", lines=len(events))


@requirement("robustness.second-handshake")
@pytest.mark.parametrize(
    "second",
    [answer(), answer(version=2), answer(extensions=["x-conformance"]), {"Handshake": None}],
    ids=["same", "other-version", "other-extensions", "null"],
)
async def test_second_handshake(iut: Iut, second: Any) -> None:
    """A second Handshake is ignored, logged, or ends the session."""
    async with open_in_setup(iut, starting=False) as session:
        await session.send(SIGNATURE, second)
        await check_still_served(iut, session, "a second Handshake")


@requirement("robustness.second-handshake")
async def test_handshake_twice_in_one_write(iut: Iut) -> None:
    """A second Handshake in the same write is ignored, logged, or ends the session."""
    async with open_session(iut, starting=False) as session:
        await session.send(answer(), answer(), log("greeted twice"), segmentation=whole)
        await check_still_served(iut, session, "two Handshakes in one write")
