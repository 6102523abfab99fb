"""Notices early that the IUT plays the other role: by what it sends, and by who connects."""

import asyncio
import contextlib

from conformance.iut import Iut
from conformance.verdicts import Conclusion, Inconclusive

_WONDER = 2.0  # seconds without a connection after which the other role is thought of
_SOON = 4.0  # seconds in which one that plays the other role shows it
_POLL = 0.05
_TRIED = "inverted"
_NETWORKS = ("tcp", "unix", "udp")


async def noticed(iut: Iut) -> Inconclusive:
    """Wait until it is clear that the IUT plays the other role, and return what to say to it."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while True:
        if spoken(iut):
            # It may yet send what its own role does.
            await asyncio.sleep(iut.seconds("response"))
            if found := spoken(iut):
                return found
        alone = not iut.sessions and loop.time() > began + _WONDER
        if alone and (met := await inverted(iut)) and not iut.sessions:
            return met
        await asyncio.sleep(_POLL)


async def inverted(iut: Iut) -> Inconclusive | None:
    """What to say to an IUT that connects where it is to listen, or listens where to connect.

    A further instance shows it, once in a run: it is given an address where we listen, or do not.
    """
    role, configuration = iut.role, iut.configuration
    reached = configuration.command and iut.testbed.transport in _NETWORKS
    if not reached or configuration.fixed or iut.memory.get(_TRIED):
        return None
    others = [
        f"{role.protocol}/{other.name}"
        for other in configuration.protocol.roles.values()
        if role.name == other.peer or other.name == role.peer
    ]
    inverted = False
    if others:
        with contextlib.suppress(Conclusion, TimeoutError):
            async with asyncio.timeout(_SOON):
                inverted = await iut.testbed.inverted()
    iut.memory[_TRIED] = True
    if not inverted:
        return None
    does, is_to = ("connects to", "listen at") if role.serves else ("listens at", "connect to")
    return Inconclusive(
        f"it {does} the address that it is to {is_to}: this looks like another role than "
        f"{role}; if that is so, test it as {' or '.join(others)}"
    )


def silent(iut: Iut) -> str:
    """What to add for an IUT that has connected and sent nothing, as another role may do."""
    role = iut.role
    alike = [
        f"{role.protocol}/{other.name}"
        for other in iut.configuration.protocol.roles.values()
        if (other.peer, other.serves) == (role.peer, role.serves) and other.name != role.name
    ]
    said = any(event.data for session in iut.sessions for event in session.theirs)
    if role.serves or said or not iut.sessions or not alike:
        return ""
    return f"; if it is to be silent at first, test it as {' or '.join(alike)}"


def spoken(iut: Iut) -> Inconclusive | None:
    """What to say to an IUT that speaks as the other role; the judge has found what is violated."""
    role = iut.role
    foreign = next((session.judge.foreign for session in iut.sessions if session.judge.foreign), "")
    messages = iut.configuration.protocol.messages
    # Where the other role sends nothing, what came does not show that the IUT plays it.
    if not foreign or not any(sender == role.peer for sender, _ in messages):
        return None
    own = {name for sender, name in messages if sender == role.name}
    own -= {name for sender, name in messages if sender != role.name}
    if any(message.name in own for session in iut.sessions for message in session.received):
        return None  # it plays its own role, whatever else it sends
    senders = [sender for sender, name in messages if name == foreign]
    other = role.peer if role.peer in senders else senders[0]
    return Inconclusive(
        f"{foreign} came, which only a {other} sends: if the IUT is a {other}, "
        f"test it as {role.protocol}/{other}"
    )
