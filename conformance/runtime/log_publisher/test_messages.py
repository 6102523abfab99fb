"""Tests of log messages: their content and their order."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from conformance.cases import blaming, check, lasting, requirement
from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.log_publisher.tester import (
    LEVELS,
    LOGGER,
    expect_published,
    log,
    log_and_expect,
    open_publisher,
)
from conformance.runtime.numbers import is_same
from conformance.runtime.shapes import LOG
from conformance.runtime.tester import shut_down
from conformance.verdicts import Inconclusive, NotExercised, Violation
from conformance.wire import Message

# The lengths around which formats and buffers of common sizes end.
LENGTHS = (255, 256, 1023, 1024, 1025, 4095, 4096, 4097, 65535, 65536, 65537)
TEXTS = [
    *("plain", "two words", "", " blanks around ", "new\nline\ttab", "quote \" and \\ and '", "{}"),
    *("of\r\ntwo lines", "at the end\n"),
    *(
        "%s %d %(event)s",
        "{event} {0}",
        "<b>a & b</b>",
        "ä€😀",
        "\x1b[31mred\x1b[0m",
        "null",
        "5",
        "x" * 31,
    ),
    *("x" * length for length in (32, *LENGTHS)),
    "ß" * 66_000,
]
PLACEHOLDERS = ["is {}", "is {key}", "is {0}", "is %s", "is %(key)s", "is $key", "is ${key}"]
LOGGERS = ["runtime", "runtime.a.b", "runtime.device.smart_devices", "runtime.x" + ".y" * 20]
TEXTS_OF_CONTEXT: list[dict[str, str]] = [
    {"uid": "226673591177742970880"},
    {"ä€": "😀", "with blank": "b", "with.dot": "1", "Capital": "2"},
    {"event": "other", "level": "debug", "logger": "x", "timestamp": "y", "extra": "z"},
    *({f"key{number}": str(number) for number in range(size)} for size in (15, 16, 20)),
]
CONTEXT: list[dict[str, Any]] = [
    {"uid": "226673591177742970880"},
    {
        "number": 5,
        "negative": -1,
        "large": 2**53 - 1,
        "real": 0.25,
        "reals": [0.1234567, -1e-9],
        "yes": True,
        "nothing": None,
    },
    {"nested": {"list": [1, [2, {"deep": {"er": [7]}}]]}, "empty": {}, "none": []},
    {
        "sizes": [
            127,
            128,
            255,
            256,
            65535,
            65536,
            2**31,
            2**32,
            -32,
            -33,
            -128,
            -129,
            -32769,
            -(2**31),
        ]
    },
    {"ä€": "😀", "with blank": "", "with.dot": 1, "Capital": 2},
    {"event": "other", "level": "debug", "logger": "x", "timestamp": "y", "extra": {"extra": 1}},
    *({f"key{number}": number for number in range(size)} for size in (15, 16, 20)),
    {f"of {size}": list(range(size)) for size in (15, 16, 17)},
]
_MAX_LOGS = 300  # messages; more than a typical queue holds, or a counter of 8 bits counts
_MIN_LOGS = 60  # messages that are logged even if the publisher is slow
_COARSE_STEP = 1.1  # seconds after which a clock without fractions has changed
_FINE_STEP = 0.15  # seconds after which a clock with fractions has changed
_STEP = 0.05  # seconds between timestamps, so that they fall on different fractions of a second
# Tolerance for a clock that is adjusted backwards while it is read.
_JITTER = timedelta(seconds=0.1)
# Tolerance between a timestamp and the tester's clock, which is also the clock of the IUT.
_CLOCK = timedelta(seconds=2)


@requirement("log.form")
async def test_form(iut: Iut) -> None:
    """A message has event, logger, level and timestamp, for any log call."""
    async with open_publisher(iut) as publisher:
        await log_and_expect(publisher, "without context", level="warning")
        await log_and_expect(publisher, "with context", extra={"key": "value"})


@requirement("log.extra-present")
async def test_extra_is_there(iut: Iut) -> None:
    """A message has extra, even if the log call has no context."""
    async with open_publisher(iut) as publisher:
        message = await log_and_expect(publisher, "without context")
        check(
            "extra" in message.value,
            "the key extra with an empty map",
            "the key was missing",
            message.event,
        )


@requirement("log.extra")
async def test_extra_is_a_map(iut: Iut) -> None:
    """extra is a map, with and without context."""
    async with open_publisher(iut) as publisher:
        for extra in ({}, {"key": "value"}, {"0": "a", "1": "b"}):
            await log_and_expect(publisher, f"with {len(extra)}", extra=extra)


@requirement("log.event")
async def test_texts(iut: Iut) -> None:
    """Any text arrives unchanged: long, empty, with several lines, with format characters."""
    texts: list[tuple[str, dict[str, Any]]] = [(text, {}) for text in TEXTS]
    # Context does not replace placeholders.
    texts += [(text, {"key": "value"}) for text in PLACEHOLDERS]
    async with open_publisher(iut) as publisher:
        for text, extra in texts:
            before = await log(publisher, text, extra=extra)
            try:
                await expect_published(publisher, text, before)
            except Violation as missing:
                about = None if missing.requirement == "log.event" else missing.requirement
                raise Violation(missing.expected, missing.came, about, missing.event) from missing


@requirement("log.logger")
async def test_loggers(iut: Iut) -> None:
    """The logger is the full dotted name of the module."""
    async with open_publisher(iut) as publisher:
        for name in LOGGERS:
            message = await log_and_expect(publisher, f"by {name}", logger=name)
            came = message.value.get("logger")
            check(came == name, f"the logger {name}", f"received {short_json(came)}", message.event)


async def _levels(iut: Iut) -> list[tuple[str, Any]]:
    """Log at each level twice; return each level with its message, or None."""
    order = (*LEVELS, *reversed(LEVELS), LEVELS[-1])
    async with open_publisher(iut) as publisher:
        for number, level in enumerate(order):
            await log(publisher, f"at level {number}", level=level)
        await expect_published(publisher, f"at level {len(order) - 1}")
        await publisher.session.drain()
        came = {
            message.value.get("event"): message
            for message in publisher.received
            if message.name == LOG and isinstance(message.value.get("event"), str)
        }
    return [(level, came.get(f"at level {number}")) for number, level in enumerate(order)]


@requirement("log.level-words")
async def test_words(iut: Iut) -> None:
    """Each level is one of the five words."""
    for level, message in await _levels(iut):
        word = message.value.get("level") if message else level
        check(
            word in LEVELS,
            f"one of the five words for the level {level}",
            f"received {short_json(word)}",
        )


@requirement("log.level")
async def test_levels(iut: Iut) -> None:
    """Each message has the level of its log call."""
    for level, message in await _levels(iut):
        if message:
            word = message.value.get("level")
            check(
                word == level, f"the level {level}", f"received {short_json(word)}", message.event
            )


@requirement("log.each-once")
async def test_every_level(iut: Iut) -> None:
    """Messages of every level are published each time; low levels can be filtered."""
    logged = await _levels(iut)
    came = {level for level, message in logged if message}
    for level, message in logged:
        lower = LEVELS[: LEVELS.index(level) + 1]
        if message is None and came & set(lower):
            raise Violation(
                f"a message for the log call at level {level}",
                "received none, but messages of other calls",
            )
    left = [level for level in LEVELS if level not in came]
    if left:
        raise Inconclusive(
            f"messages at the level {' and '.join(left)} are not published: if the IUT "
            "has a threshold, set it to debug for the test"
        )


@requirement("log.timestamp-form")
async def test_timestamp_form(iut: Iut) -> None:
    """The timestamp is a date and time of ISO 8601."""
    async with open_publisher(iut) as publisher:
        for number in range(3):
            await log_and_expect(publisher, f"step {number}")


@requirement("log.timestamp-separator")
async def test_timestamp_separator(iut: Iut) -> None:
    """The date and the time in a timestamp are separated by T."""
    async with open_publisher(iut) as publisher:
        for level in ("warning", "error"):
            await log_and_expect(publisher, f"at {level}", level=level)


@requirement("log.timestamp")
@lasting
async def test_timestamps(iut: Iut) -> None:
    """The timestamp is the time of the log call, and differs for a later call."""
    times: list[datetime] = []
    async with open_publisher(iut) as publisher:
        for number in range(2):
            if times:
                step = _FINE_STEP if times[0].microsecond else _COARSE_STEP
                await publisher.session.drain(within=step)
            before = datetime.now(UTC)
            message = await log_and_expect(publisher, f"step {number}")
            text = str(message.value["timestamp"])
            came = _time(text)
            if came is None:
                raise Inconclusive(
                    f"the format of the timestamp {text!r} is not supported for a comparison"
                )
            after = datetime.now(UTC)
            expected = f"a time between {before.isoformat()} and {after.isoformat()}"
            near = _near(came, before, after)
            check(near, expected, f"received {text!r}", message.event)
            if times and not _of_minutes(times[0]):
                check(
                    came != times[0],
                    "another time than in the previous message",
                    f"received {text!r} again",
                    message.event,
                )
            times.append(came)


@requirement("log.timestamp")
@lasting
async def test_timestamps_go_on(iut: Iut) -> None:
    """A later message has no earlier timestamp, at any fraction of a second."""
    last = datetime(1970, 1, 1)
    async with open_publisher(iut) as publisher:
        for number in range(24):
            message = await log_and_expect(publisher, f"step {number}")
            came = _time(str(message.value["timestamp"]))
            if came is None:
                raise Inconclusive("the format of the timestamps is not supported for a comparison")
            came = came.astimezone(UTC).replace(tzinfo=None) if came.tzinfo else came
            check(
                came >= last - _JITTER,
                f"a time not before {last.isoformat()}, the time of the last message",
                f"received {message.value['timestamp']!r}",
                message.event,
            )
            last = max(last, came)
            await publisher.session.drain(within=_STEP)


def _time(text: str) -> datetime | None:
    """Return the time in a timestamp, or None if Python cannot parse it."""
    # Python parses at most six digits of a fraction.
    try:
        return datetime.fromisoformat(re.sub(r"([.,]\d{6})\d+", r"\1", text))
    except ValueError:
        return None


def _of_minutes(came: datetime) -> bool:
    """Return True if the timestamp may have been written without seconds."""
    return not (came.second or came.microsecond)


def _near(came: datetime, before: datetime, after: datetime) -> bool:
    """Return True if a time is between two others, within its precision.

    A time without offset is accepted in any time zone.
    """
    margin = timedelta(minutes=1) if _of_minutes(came) else _CLOCK
    if came.tzinfo is not None:
        return before - margin <= came <= after + margin
    off = came.replace(tzinfo=UTC) - before
    quarters = round(off / timedelta(minutes=15))
    there = before + timedelta(minutes=15) * quarters
    return abs(quarters) <= 14 * 4 and (
        there - margin <= came.replace(tzinfo=UTC) <= there + (after - before) + margin
    )


@requirement("log.context")
async def test_context(iut: Iut) -> None:
    """Further texts of a log call are in extra, under any names. Other keys are unaffected."""
    await _check_context(iut, TEXTS_OF_CONTEXT)


@requirement("log.context-values")
async def test_context_values(iut: Iut) -> None:
    """Values in extra keep their types, and can be nested."""
    await _check_context(iut, CONTEXT)


async def _check_context(iut: Iut, context: Sequence[Mapping[str, Any]]) -> None:
    async with open_publisher(iut) as publisher:
        for number, extra in enumerate(context):
            # The message has to be published with any context.
            with blaming("log.each-once"):
                message = await log_and_expect(
                    publisher, f"step {number}", extra=extra, level="error"
                )
            found = message.value.get("extra")
            values = found if isinstance(found, dict) else {}
            # The report contains only the wrong values, which can be few among many.
            wrong = [n for n in extra if n not in values or not is_same(extra[n], values[n])]
            expected = f"{short_json({name: extra[name] for name in wrong})} in extra"
            part = {name: values[name] for name in wrong if name in values} if values else found
            check(not wrong, expected, f"received {short_json(part)}", message.event)
            for name, wanted in (("level", "error"), ("logger", LOGGER)):
                came = message.value.get(name)
                if came != wanted:
                    text = f"received {short_json(came)}"
                    # If context of that name has replaced the value, log.context is violated.
                    about = None if name in extra else f"log.{name}"
                    raise Violation(f"the {name} {wanted}", text, about, message.event)


@requirement("log.context")
async def test_context_of_others(iut: Iut) -> None:
    """The context of one message does not appear in the next message."""
    async with open_publisher(iut) as publisher:
        for number in range(3):
            for extra in ({f"conformance_{number}": number}, {}, {"step": number}, {}):
                event = f"{number} with {len(extra)}"
                message = await log_and_expect(publisher, event, extra=extra, level="error")
                came = message.value.get("extra") or {}
                others = [
                    name
                    for name in came
                    if (name == "step" or str(name).startswith("conformance_"))
                    and name not in extra
                ]
                expected = f"only {short_json(extra)} in extra, and nothing of an earlier message"
                check(not others, expected, f"received {short_json(came)}", message.event)


@requirement("log.each-once")
async def test_equal_messages(iut: Iut) -> None:
    """The same message, logged twelve times at three levels, is published 36 times."""
    async with open_publisher(iut) as publisher:
        for level in LEVELS[2:]:
            for _ in range(12):
                await log_and_expect(publisher, "again", level=level)
        await log_and_expect(publisher, "another")
        await publisher.session.drain()
        texts = [message.value.get("event") for message in publisher.received]
        came = texts.count("again")
        check(came == 36, "36 messages", f"received {came}")


@requirement("log.each-once")
async def test_at_once(iut: Iut) -> None:
    """Twenty simultaneous log calls are published as twenty messages."""
    texts = [f"at once {number}" for number in range(20)]
    async with open_publisher(iut) as publisher:
        await asyncio.gather(*(log(publisher, text) for text in texts))
        await log_and_expect(publisher, "another")
        await publisher.session.drain()
        came = [message.value.get("event") for message in publisher.received]
        lost = [text for text in texts if text not in came]
        check(
            not lost,
            "20 messages of 20 log calls",
            f"{len(lost)} were lost, for example {lost[:1]}",
        )


@requirement("log.each-once")
async def test_last_words(iut: Iut) -> None:
    """A message that is logged directly before a program ends is published."""
    if iut.transport == "zmq" or "log" in iut.configuration.hooks:
        raise NotExercised("needs a program with a stream, which ends with its standard input")
    async with open_publisher(iut) as publisher:
        await log_and_expect(publisher, "before")
        await log(publisher, "last words", alone=True)
        await shut_down(publisher.session)
        if len(publisher.sessions) > 1:
            raise NotExercised("needs a publisher that sends all messages on one connection")
        await expect_published(publisher, "last words")


@requirement("log.at-once")
async def test_without_another_message(iut: Iut) -> None:
    """A message is sent although no other message follows."""
    async with open_publisher(iut) as publisher:
        # A message that does not come after others either is lost, not late.
        about = None if publisher.filling else "log.each-once"
        await log_and_expect(publisher, "with others")
        for number in range(2):
            await log(publisher, f"alone {number}", alone=True)
            await expect_published(publisher, f"alone {number}", requirement=about)


@requirement("log.order")
async def test_order(iut: Iut) -> None:
    """Fifty messages arrive in the order of their log calls."""
    async with open_publisher(iut) as publisher:
        for number in range(50):
            await log(publisher, f"step {number}", level=LEVELS[2 + number % 3])
        try:
            await expect_published(publisher, "step 49")
        except Violation as missing:
            raise Violation(missing.expected, missing.came, "log.each-once") from missing
        texts = [str(message.value.get("event")) for message in publisher.received]
        came = [int(text.removeprefix("step ")) for text in texts if text.startswith("step ")]
        for one, other in pairwise(came):
            expected = f"step {other} before step {one}"
            check(one <= other, expected, f"step {one} was received first")


@requirement("log.each-once")
async def test_many(iut: Iut) -> None:
    """The last of hundreds of messages are as complete and correct as the first."""
    async with open_publisher(iut) as publisher:
        left, logs = publisher.session.countdown("response"), 0
        while logs < _MAX_LOGS and (logs < _MIN_LOGS or left() > 0):
            level = LEVELS[2 + logs % 3]
            await log(publisher, f"step {logs}", level=level, extra={"number": str(logs)})
            logs += 1
        try:
            await expect_published(publisher, f"step {logs - 1}")
        except Violation as missing:
            missing.requirement = None
            raise

        def received() -> list[tuple[int, Message]]:
            texts = ((str(m.value.get("event")), m) for m in publisher.received if m.name == LOG)
            found = ((re.fullmatch(r"step (\d+)", text), message) for text, message in texts)
            return [(int(number[1]), message) for number, message in found if number]

        def lost() -> list[int]:
            """Return the missing messages of levels that the publisher does not filter."""
            steps = {step for step, _ in received()}
            levels = {step % 3 for step in steps}
            return [n for n in range(logs) if n % 3 in levels and n not in steps]

        async def all_came() -> bool:
            return not lost()

        # Messages on several connections can overtake each other.
        within = publisher.session.countdown("response")
        await publisher.session.poll_until(all_came, "all of many messages", within)
        if gone := lost():
            raise Violation(f"{logs} messages", f"{len(gone)} were missing, first step {gone[0]}")
        for step, message in received():
            extra = message.value.get("extra")
            given = extra.get("number") if isinstance(extra, dict) else extra
            for about, expected, came in (
                ("log.level", LEVELS[2 + step % 3], message.value.get("level")),
                ("log.context", str(step), given),
            ):
                if came != expected:
                    expectation = f"{short_json(expected)} in message {step} of {logs}"
                    raise Violation(
                        expectation, f"received {short_json(came)}", about, message.event
                    )
