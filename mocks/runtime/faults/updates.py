"""Faults of the update publisher about messages, UIDs, aliases and the rate."""

from typing import Any

from conformance.runtime.codec import encode
from mocks.deviations import Fault, Subtle, Table
from mocks.runtime.messages import SEND_JSON, split
from mocks.runtime.update_publisher import Publisher
from mocks.runtime.values import in_members, to_bin
from mocks.steps import When, alter, differing, first, instead, only, returning, skip, then

Members = dict[str, Any]
HAS_CHANGES = When(lambda publisher: any(publisher.changed.values()))
"""If a value has changed since the last update."""


def _write_uids_as_bins(publisher: Publisher) -> Members:
    pairs = [[to_bin(uid), publisher.values(uid)] for uid in publisher.devices]
    return {"$map": pairs} if pairs else {}


def _send_wrapped(publisher: Publisher, message: Members) -> None:
    publisher.write(encode([2, "update", [message["sd"]]]))


def _send_with_time(publisher: Publisher, message: Members) -> None:
    publisher.write(encode({"time": 0.0, "update": message}))


def _with_uids_up_to_64_bits(_: Publisher, message: Members) -> Members:
    return {
        part: {"$map": [[str(min(int(uid), 2**64 - 1)), members[uid]] for uid in members]}
        for part, members in message.items()
    }


def _with_uids_as_integers(_: Publisher, message: Members) -> Members:
    return {
        part: members and {"$map": [[int(uid), members[uid]] for uid in members]}
        for part, members in message.items()
    }


def _known(publisher: Publisher) -> Any:
    return set(publisher.devices), dict(publisher.aliases)


def _is_new_or_repeated_to_ten(publisher: Any, data: bytes) -> bool:
    before, times = vars(publisher).get("written", (b"", 0))
    times = times + 1 if data == before else 1
    publisher.written = data, times
    return bool(times <= 10)


FAULTS = Table(Publisher)

FAULTS["encoding.messagepack"] = {
    "json": Fault("Sends JSON.", SEND_JSON),
    "long-updates-in-two": Subtle(
        "Splits an update of more than 500 bytes into several datagrams.", split(500)
    ),
    "cut-at-a-packet": Subtle(
        "Truncates an update to the size of one Ethernet packet.",
        alter("write", lambda _, data: data[:1472]),
    ),
    "counts-of-four-bits": Subtle(
        "Writes the count of a map of 16 as four bits, which is 0.",
        alter("write", lambda _, data: data.replace(b"\xde\x00\x10", b"\x80")),
    ),
}

FAULTS["encoding.strings"] = {
    "keys-as-bytes": Fault("Writes UIDs as bins.", instead("sd", _write_uids_as_bins)),
    "aliases-as-bytes": Subtle(
        "Writes aliases with characters beyond ASCII as bins.",
        returning("named", in_members(lambda name: name if name.isascii() else to_bin(name))),
    ),
}

FAULTS["update.form"] = {
    "wrapped": Fault(
        "Wraps an update in an RPC notification, without sd and aliases.",
        instead("send", _send_wrapped),
    ),
    "within-a-map": Fault(
        "Sends an update within a map with its time.", instead("send", _send_with_time)
    ),
    "nothing-as-nil": Subtle(
        "Writes nil for a device without changes.",
        returning("values", lambda values: values or None),
    ),
}

FAULTS["update.aliases-present"] = {
    "no-empty-aliases": Subtle(
        "Omits aliases if there are none.",
        returning("message", lambda told: {n: told[n] for n in told if n == "sd" or told[n]}),
    ),
}

FAULTS["update.uid-form"] = {
    "uids-in-hex": Fault("Writes UIDs in hex.", returning("uid", lambda uid: hex(int(uid)))),
    "uids-as-integers": Fault(
        "Writes UIDs as MessagePack integers.", alter("send", _with_uids_as_integers)
    ),
    "uids-as-doubles": Subtle(
        "Stores UIDs in doubles, as JavaScript does.",
        returning("uid", lambda uid: str(int(float(uid)))),
    ),
    "aliases-turned-round": Subtle(
        "Maps aliases to UIDs instead of UIDs to aliases.",
        returning("named", lambda aliases: {alias: uid for uid, alias in aliases.items()}),
    ),
}

FAULTS["update.uid-width"] = {
    "uids-of-64-bits": Subtle(
        "Truncates a UID to its lower 64 bits.", returning("uid", lambda uid: str(int(uid) % 2**64))
    ),
    "uids-up-to-64-bits": Subtle(
        "Writes the largest number of 64 bits for every larger UID, even repeatedly.",
        alter("send", _with_uids_up_to_64_bits),
    ),
}

FAULTS["update.aliases"] = {
    "empty-aliases": Subtle(
        "Writes an empty alias for a device without one.",
        instead(
            "named", lambda publisher: dict.fromkeys(publisher.devices, "") | publisher.aliases
        ),
    ),
    "aliases-cut": Subtle(
        "Truncates an alias to 31 characters.",
        returning("named", in_members(lambda alias: alias[:31])),
    ),
    "aliases-of-1024-bytes-lost": Subtle(
        "Omits an alias of more than 1024 bytes.",
        returning(
            "named",
            lambda told: {uid: told[uid] for uid in told if len(told[uid].encode()) <= 1024},
        ),
    ),
    "aliases-in-lower-case": Subtle(
        "Writes aliases in lower case.", returning("named", in_members(str.lower))
    ),
    "aliases-once": Subtle(
        "Keeps the first alias of a device, and ignores later ones.",
        skip("alias", lambda publisher, uid, alias: uid in publisher.aliases),
    ),
    "no-aliases": Fault("Ignores all aliases.", skip("alias")),
    "one-goes-aliases-go": Subtle(
        "Forgets all aliases when any device disconnects.",
        then("disconnect", lambda publisher, uid: publisher.aliases.clear()),
    ),
}

FAULTS["update.goes-on"] = {
    "only-on-changes": Subtle(
        "Sends no update if nothing has changed.", only("update", differing(_known) | HAS_CHANGES)
    ),
    "tired-of-repeating": Subtle(
        "Sends at most ten equal updates in a row.", only("write", _is_new_or_repeated_to_ten)
    ),
}

FAULTS["update.changed"] = {
    "thirty-updates": Subtle(
        "Stops after thirty updates, which is three seconds.", only("update", first(30))
    ),
}
