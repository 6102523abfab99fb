"""Plays one side of a recording: what it has sent, in the place of a mock of its role."""

import argparse
import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.definitions import protocols
from conformance.judging import captures
from conformance.judging.captures import Capture
from mocks import datagrams, run, streams
from mocks.script import Steps
from mocks.streams import Stream

MOMENT = 2.0  # seconds more than in the recording in which something may come


def scripts(path: Path, role: str) -> list[Mapping[str, Steps]]:
    """What a role has sent on each connection of a capture, as scripts by the name of the port.

    Raises ValueError where there is nothing to be played.
    """
    try:
        capture = captures.read(path)
    except captures.CaptureError as error:
        raise ValueError(str(error)) from error
    protocol, _, name = role.partition("/")
    played = [_script(capture, name, connection) for connection in capture.connections]
    found: list[Mapping[str, Steps]] = [script for script in played if any(script.values())]
    if capture.protocol != protocol or not found:
        raise ValueError(f"{path} is of {capture.protocol}, and nothing in it is sent by {role}")
    return found


def _script(capture: Capture, role: str, connection: int | None) -> dict[str, Steps]:
    """It sends what it has sent, once what was last sent to it before that has come.

    Messages that pace the protocol are waited for until they come; what else the other side sends
    is its own choice, and waited for as long as it took in the recording, and a moment.
    """
    protocol = protocols.load(capture.protocol)
    decoders = {party: protocol.decoder(party, capture.transport) for party in protocol.parties}
    channels = protocol.role(role).channels
    steps: list[dict[str, Any]] = []
    # Datagrams are sent for their time, and nobody ends them.
    timed = protocol.role(role).transports == ("udp",)
    peer = ""
    awaited: list[str] = []
    since = 0.0
    for event in capture.only(connection).events:
        if event.sender not in (None, role):
            peer = str(event.sender)
            for frame in decoders[peer].feed(event.data) if event.data else ():
                known = protocol.messages.get((peer, frame.name or ""))
                if known and known.paces:
                    steps.append({"when": known.name})
                    awaited = []
                elif known:
                    awaited.append(known.name)
            continue
        if awaited and event.sender == role and not timed:
            steps.append({"when": awaited, "within": MOMENT + event.at - since})
        awaited, since = [], event.at
        if event.sender == role and event.data is not None:
            steps.append({"hex": event.data.hex()} | ({"at": event.at} if timed else {}))
        elif event.sender == role and event.event == "closed":
            steps.append({"disconnect": True})
    if timed and steps:
        steps.append({"disconnect": True})
    return {peer if peer in channels else "": steps}


async def main(args: argparse.Namespace, role: str, connections: int) -> int:
    """Listen as a server of the role would, or connect as often as it has in the recording."""

    async def session(stream: Stream) -> None:
        while await stream.read():
            pass
        await stream.closed()

    known = protocols.role(role)
    if known.transports == ("udp",):
        if not args.connect:
            raise ValueError(f"a recording of {role} needs --connect")
        for _ in range(connections):
            await (await datagrams.connect(args.connect)).closed.wait()
    elif args.listen:
        addresses = args.listen.split(",")
        if args.listen.endswith(":0"):
            addresses += addresses[-1:] * (len(known.channels) - len(addresses))
        run.here().channels = known.channels or ("",)
        if len(addresses) != len(run.here().channels):
            raise ValueError(f"--listen: an address each for {', '.join(known.channels)} is needed")
        async with asyncio.TaskGroup() as group:
            for channel, address in zip(run.here().channels, addresses, strict=True):
                group.create_task(streams.serve(address, session, channel))
    elif args.connect:
        for _ in range(connections):
            address = args.connect.removeprefix("http://").rstrip("/")
            await session(await streams.connect(address))
    else:
        await session(await streams.wire())
    return 0
