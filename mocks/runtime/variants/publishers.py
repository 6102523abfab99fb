"""Lawful variants of publishers: log messages, gamepad input and updates."""

import math
import time
from typing import Any

from mocks.deviations import Table, Variant, variant
from mocks.runtime import gamepad_sender, log_publisher, update_publisher
from mocks.runtime.values import in_all_parts, of_type, to_single
from mocks.steps import alter, before, differing, fail, having, instead, only, returning, skip, then

Values = dict[str, Any]
_OWN = "18446744073709551617"
_TO_SINGLE = in_all_parts(of_type(float, to_single))
_WHOLE_FLOATS = of_type(float, int, lambda value: abs(value) < 2**53 and value.is_integer())


def _rest(publisher: update_publisher.Publisher, *args: Any) -> None:
    time.sleep(publisher.period / 2)


def _write_half_and_close(publisher: log_publisher.Publisher, data: bytes) -> None:
    publisher.stream.write(data[: len(data) // 2])
    publisher.stream.close()


def _has_text(_: update_publisher.Publisher, uid: str, values: Values, *rest: Any) -> bool:
    return any(isinstance(value, str) for value in values.values())


def _has_other_length(publisher: update_publisher.Publisher, uid: str, values: Values) -> bool:
    known = publisher.devices[uid]
    return any(
        isinstance(value, list) and len(value) != len(known.get(name, value))
        for name, value in values.items()
    )


LOGS = Table(log_publisher.Publisher)

LOGS["encoding.messagepack"] = {
    "gives-up-slow-readers": Variant(
        "Closes a connection inside a message if the reader has not read the previous ones.",
        instead("write", _write_half_and_close, having("stream.is_behind")),
    ),
}

LOGS["log.timestamp-separator"] = {
    "blank-in-timestamps": Variant(
        "Writes a blank between the date and the time of a timestamp.",
        instead("timestamp", lambda _, now: now.isoformat(sep=" ")),
    ),
}

LOGS["log.timestamp-form"] = {
    "basic-timestamps": Variant(
        "Writes timestamps in the basic format, without fractions.",
        instead("timestamp", lambda _, now: now.strftime("%Y%m%dT%H%M%SZ")),
    ),
}

LOGS["log.extra-present"] = {
    "no-empty-extra": Variant(
        "Omits an empty extra.",
        alter("publish", lambda _, message: {n: v for n, v in message.items() if v != {}}),
    ),
}

LOGS["log.each-once"] = {
    "drops-what-is-not-taken": Variant(
        "Drops messages while its reader has not read the previous ones.",
        skip("publish", having("stream.is_behind")),
    ),
    "repeats-left-out": Variant(
        "Omits a message that is equal to the previous one, apart from its timestamp.",
        only("publish", differing(lambda _, message: {**message, "timestamp": None})),
    ),
}

LOGS["log.context"] = {
    "more-context": Variant(
        "Adds the process and the thread to the context in extra.",
        returning("context", lambda context: {"process": "mock", "thread": 1, **context}),
    ),
    "context-in-single-precision": Variant(
        "Stores floats of the context in single precision.", returning("context", _TO_SINGLE)
    ),
}

LOGS["log.context-values"] = {
    "context-of-texts": Variant(
        "Leaves out context that is null, and writes all other context as text.",
        returning(
            "context",
            lambda extra: {name: str(value) for name, value in extra.items() if value is not None},
        ),
    ),
}

PADS = Table(gamepad_sender.Sender)

PADS["gamepad.form"] = {
    "more-keys": Variant(
        "Adds the name of a gamepad and the time to its map.",
        returning("pad", lambda pad: {"id": "Pad", "time": time.time(), **pad}),
    ),
}

PADS["gamepad.index"] = {
    "four-gamepads": Variant(
        "Refuses gamepads with an index above 3.",
        before(
            "gamepads",
            fail(ValueError, "there are only four gamepads"),
            lambda _, pads: any(int(index) > 3 for index in pads),
        ),
    ),
}

PADS["gamepad.axes-floats"] = {
    "whole-axes": Variant(
        "Sends axes with whole values as integers, as JavaScript does.",
        returning("axis", _WHOLE_FLOATS),
    ),
}

PADS["gamepad.full-range"] = {
    "square-within-the-circle": Variant(
        "Scales the square of positions so that its corners are on the circle.",
        instead("joystick", lambda _, x, y: (x / math.sqrt(2), y / math.sqrt(2))),
    ),
}

PADS["gamepad.each"] = {
    "changed-gamepads": Variant(
        "Sends nothing if the gamepads have not changed since its last message.",
        only("write", differing(lambda _, data: data)),
    ),
}

UPDATES = Table(update_publisher.Publisher)

UPDATES["update.values"] = {
    "typed-by-a-catalog": Variant(
        "Refuses text, and arrays of another length than the first value.",
        before("connect", fail(ValueError, "text is no value"), _has_text),
        before("change", fail(ValueError, "the length of an array is fixed"), _has_other_length),
    ),
}

UPDATES["update.unchanged"] = {
    "all-values": Variant(
        "Sends all parameters in every update.",
        instead("values", lambda publisher, uid: dict(publisher.devices[uid])),
    ),
}

UPDATES["update.first-values"] = {
    "changes-only": Variant(
        "Does not send the first values of a new device.",
        then("connect", lambda publisher, uid, *_: publisher.changed.update({uid: {}})),
    ),
}

UPDATES["update.goes-on"] = {
    "updates-at-once": Variant(
        "Sends an update before and after it connects a device, and answers a moment later.",
        before("connect", "update"),
        then("connect", "update"),
        then("connect", _rest),
    ),
    "told-by-parameters": Variant(
        "Sends an update only after a parameter has changed; other changes wait for it.",
        only("update", lambda publisher: any(publisher.changed.values())),
    ),
}

UPDATES["update.values"] = {
    "whole-floats": Variant(
        "Sends floats with whole values as integers.",
        returning("values", in_all_parts(_WHOLE_FLOATS)),
    ),
    "floats-of-single-precision": Variant(
        "Stores floats in single precision; a greater float becomes infinite.",
        returning("values", _TO_SINGLE),
    ),
}

UPDATES["update.aliases-present"] = {
    "no-empty-aliases": Variant(
        "Omits aliases if no device has one.",
        returning("message", lambda told: {n: told[n] for n in told if n == "sd" or told[n]}),
    ),
}

UPDATES["update.uid-width"] = {
    "uids-of-64-bits": Variant(
        "Keeps a UID in 64 bits.", returning("uid", lambda uid: str(min(int(uid), 2**64 - 1)))
    ),
}


@variant("devices-of-its-own", of="update.all-uids")
class DevicesOfItsOwn(update_publisher.Publisher):
    """Has an additional device with an alias and changing values."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.connect(_OWN, {"level": 0}, "built in")

    def update(self) -> None:
        self.change(_OWN, {"level": self.devices[_OWN]["level"] + 1})
        super().update()
