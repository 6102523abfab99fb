"""Detects early that the IUT plays another role, of this protocol or of another protocol.

The signs are its messages, its first bytes, its way of connecting, and its operations.
"""

import asyncio
import contextlib
import re
from collections.abc import Iterable

from conformance.codec import Decoder, Frame
from conformance.definitions import protocols
from conformance.iut import Iut
from conformance.verdicts import Conclusion, Inconclusive

_CONNECT_TIME = 2.0  # seconds without a connection after which other roles are tried
_TRIAL_TIME = 4.0  # seconds in which an IUT of another role takes part
_POLL_INTERVAL = 0.05  # seconds between two checks
_BEGINNING = 1024 * 1024  # bytes: three times those of a scene with 22 robots
_QUOTED = 60  # bytes of a foreign stream that a message shows
_FIRST_CHUNK = 1024  # bytes that a decoder gets first: a few messages at most
_TRIED_FACT = "other-role-tried"  # the name of a fact in the testbed's facts
_Way = tuple[str, bool]
"""How an IUT takes part: the transport, and True if the suite connects to the IUT."""
_WAYS: dict[_Way, tuple[str, str]] = {
    ("tcp", True): ("listens at", "listen at"),
    ("tcp", False): ("connects to", "connect to"),
    ("udp", True): ("takes datagrams at", "take datagrams at"),
    ("udp", False): ("sends datagrams to", "send datagrams to"),
}
"""Each way in words: as a statement, and as an infinitive."""


async def wait_for_other_role(iut: Iut) -> Inconclusive:
    """Wait until the IUT is known to play another role; return the message for it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        if foreign_role_message(iut):
            # The IUT can still send messages of its own role.
            await asyncio.sleep(iut.seconds("response"))
            if found := foreign_role_message(iut):
                return found
        unconnected = not iut.sessions and loop.time() > began + _CONNECT_TIME
        if unconnected and (found := await other_role_message(iut)) and not iut.sessions:
            return found
        await asyncio.sleep(_POLL_INTERVAL)


async def other_role_message(iut: Iut) -> Inconclusive | None:
    """The message for an IUT that takes part like another role, or has its operations.

    Once in a run, the suite starts further instances. It listens or connects in other ways, and
    asks for an operation that only another role has. Returns None if nothing shows another role.
    """
    if iut.configuration.runs_already or iut.facts.get(_TRIED_FACT):
        return None
    iut.facts[_TRIED_FACT] = True
    ways = () if iut.configuration.has_fixed_address else _WAYS
    trying = [asyncio.create_task(_message_for(iut, way)) for way in ways]
    trying.append(asyncio.create_task(_message_for_operations(iut)))
    try:
        for trial in asyncio.as_completed(trying):
            if found := await trial:
                return found
    finally:
        for task in trying:
            task.cancel()
        await asyncio.gather(*trying, return_exceptions=True)
    return None


async def _message_for(iut: Iut, way: _Way) -> Inconclusive | None:
    """The message for an IUT that takes part in this way, if another role does so."""
    role, (kind, serves) = iut.role, way
    own = (_kind(iut), role.serves)
    others = [
        f"{role.protocol}/{other.name}"
        for other in iut.configuration.protocol.roles.values()
        if other.serves == serves and kind in other.transports
    ]
    if not others or way == own or own not in _WAYS:
        return None
    with contextlib.suppress(Conclusion, TimeoutError):
        async with asyncio.timeout(_TRIAL_TIME):
            if await iut.testbed.can_take_part(
                iut.testbed.transport if kind == own[0] else kind, serves
            ):
                does, is_to = _WAYS[way][0], _WAYS[own][1]
                return Inconclusive(
                    f"the IUT {does} the address that it should {is_to}, unlike {role}; "
                    f"if the IUT plays another role, test it as {' or '.join(others)}"
                )
    return None


def _kind(iut: Iut) -> str:
    return "tcp" if iut.testbed.transport == "unix" else iut.testbed.transport


async def _message_for_operations(iut: Iut) -> Inconclusive | None:
    """Return the message for an IUT that has only the operations of another role."""
    role = iut.role
    with contextlib.suppress(Conclusion, TimeoutError):
        async with asyncio.timeout(_TRIAL_TIME), iut.instance() as instance:
            for other in iut.configuration.protocol.roles.values():
                own = [name for name in role.hooks if name not in other.hooks]
                theirs = [name for name in other.hooks if name not in role.hooks]
                if not (own and theirs) or await instance.upper.is_offered(own[0]) is not False:
                    continue
                if await instance.upper.is_offered(theirs[0]):
                    return Inconclusive(
                        f"the IUT has the operation '{theirs[0]}', not '{own[0]}': if the IUT is "
                        f"{_with_article(other.name)}, test it as {role.protocol}/{other.name}"
                    )
    return None


def silence_hint(iut: Iut) -> str:
    """The hint for an IUT that connects and sends nothing, as another role can."""
    role = iut.role
    others = [
        f"{role.protocol}/{other.name}"
        for other in iut.configuration.protocol.roles.values()
        if ((other.peer, other.serves) == (role.peer, role.serves) and other.name != role.name)
        # Over standard streams, roles that serve and roles that connect look the same.
        or (iut.transport == "stdio" and other.name == role.peer)
    ]
    has_sent = any(event.data for session in iut.sessions for event in session.iut_events)
    if role.serves or has_sent or not iut.sessions or not others:
        return ""
    return f"; if the IUT waits for its peer to send first, test it as {' or '.join(others)}"


def foreign_role_message(iut: Iut) -> Inconclusive | None:
    """The message for an IUT that sends messages of the other role."""
    role = iut.role
    foreign = next((session.judge.foreign for session in iut.sessions if session.judge.foreign), "")
    messages = iut.configuration.protocol.messages
    # A role that sends nothing cannot be recognised from messages.
    if not foreign or not any(sender == role.peer for sender, _ in messages):
        return None
    own = {name for sender, name in messages if sender == role.name}
    own -= {name for sender, name in messages if sender != role.name}
    if any(message.name in own for session in iut.sessions for message in session.received):
        return None  # the IUT also plays its own role
    senders = [sender for sender, name in messages if name == foreign]
    other = role.peer if role.peer in senders else senders[0]
    return Inconclusive(
        f"{foreign} came, which only {_with_article(other)} sends: "
        f"if the IUT is {_with_article(other)}, "
        f"test it as {role.protocol}/{other}"
    )


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


async def other_protocol_hint(iut: Iut) -> str:
    """Return the hint for an IUT that has only sent messages of another protocol."""
    known = iut.configuration.protocol.messages
    received = (message for session in iut.sessions for message in session.received)
    came = (_first_bytes(event.data or b"" for event in each.iut_events) for each in iut.sessions)
    # A thread, because a decoder can take long for a long message, and would block the event loop.
    named = await asyncio.to_thread(
        first_message_of, next(filter(None, came), b""), iut.role.protocol
    )
    if not named or any((iut.role.name, message.name) in known for message in received):
        return ""
    message, senders = named
    protocol = senders[0].partition("/")[0]
    likely = [path for path in senders if protocols.role(path).serves == iut.role.serves]
    roles = " or ".join(likely or senders)
    return f"{message} of {protocol} came: if the IUT speaks {protocol}, test it as {roles}"


_FOREIGN = (
    (rb"HTTP/1\.[01] [0-9]{3}|[A-Z]{3,7} [^ \r\n]+ HTTP/1\.[01]\r?\n|PRI \* HTTP/2", "HTTP"),
    (rb"[\x14-\x17]\x03[\x00-\x04]..", "TLS"),
    (rb"SSH-[0-9.]+-", "SSH"),
    (rb"220[ -][^\r\n]*\r\n", "a greeting of FTP or SMTP"),
    (rb"RFB [0-9]{3}\.[0-9]{3}\n", "VNC"),
    (rb"<\?xml |<!DOCTYPE |<html", "a document in XML or HTML"),
    (
        rb"[^\n]{0,100}(?:: command not found|: not found|: No such file or directory"
        rb"|: Permission denied|: cannot execute)",
        "the error message of a shell",
    ),
    (rb"(?:usage|Usage|USAGE): ", "the usage text of a program"),
)
"""The beginnings of streams that belong to no protocol of the suite, and their names."""


def foreign_stream_hint(iut: Iut) -> str:
    """Return the hint for an IUT whose stream begins like another kind of program.

    A beginning that the decoder of this role accepts as a message is not foreign. The hint is
    empty if no beginning is foreign.
    """
    protocol, role = iut.configuration.protocol, iut.role.name
    for session in iut.sessions:
        data = session.beginning
        for pattern, what in _FOREIGN:
            if not (found := re.match(pattern, data, re.DOTALL)):
                continue
            frames = protocol.decoder(role).feed(data)
            known = frames and not frames[0].error and (role, frames[0].name) in protocol.messages
            # A protocol over HTTP can have answers without a name of their own.
            over = what == "HTTP" and frames and len(frames[0].raw) >= found.end()
            if not known and not over:
                return f"{what} came: {data[:_QUOTED]!r}"
    return ""


def _first_bytes(pieces: Iterable[bytes]) -> bytes:
    """Return the first `_BEGINNING` bytes, which contain the first message of any protocol."""
    data = bytearray()
    for piece in pieces:
        data += piece[: _BEGINNING - len(data)]
        if len(data) == _BEGINNING:
            break
    return bytes(data)


def first_message_of(data: bytes, but: str = "") -> tuple[str, list[str]] | None:
    """Return the message at the beginning of bytes, and the roles that send this message.

    The protocol ``but`` is left out. Returns None if no protocol has such a message.
    """
    for name in protocols.names():
        protocol = protocols.load(name)
        roles = []
        for role in protocol.roles.values() if name != but else ():
            first = _first(protocol.decoder(role.name), data)
            known = protocol.messages.get((role.name, first.name or "")) if first else None
            if known and first and not first.error:
                errors, _ = protocol.schemas.schema(known.schema).check(first.value)
                roles += [] if errors else [(known.name, str(role))]
        if roles:
            return roles[0][0], [path for _, path in roles]
    return None


def _first(decoder: Decoder, data: bytes) -> Frame | None:
    """Return the first frame of bytes, or None; later bytes are mostly not decoded."""
    start, size = 0, _FIRST_CHUNK
    while start < len(data):
        if frames := decoder.feed(data[start : start + size]):
            return frames[0]
        start += size
        # Growing chunks, because a decoder can search a long message again with each chunk.
        size *= 2
    return None
