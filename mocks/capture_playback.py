"""Replay one side of a recording in place of a mock of this role."""

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

MOMENT = 2.0  # seconds to wait for a message, in addition to its time in the recording


def scripts(path: Path, role: str) -> list[Mapping[str, Steps]]:
    """Return a role's side of each connection of a capture, as scripts by port name.

    Raises ValueError if the role has sent nothing in the capture.
    """
    try:
        capture = captures.read(path)
    except captures.CaptureError as error:
        raise ValueError(str(error)) from error
    protocol, _, name = role.partition("/")
    played = [_script(capture, name, connection) for connection in capture.connections]
    found: list[Mapping[str, Steps]] = [script for script in played if any(script.values())]
    if capture.protocol != protocol or not found:
        raise ValueError(
            f"{path}: expected messages of {role}; this capture of {capture.protocol} has none"
        )
    return found


def _script(capture: Capture, role: str, connection: int | None) -> dict[str, Steps]:
    """Make a script that sends the recorded messages, each after the messages before it.

    The script waits without a limit for messages that pace the protocol. Other messages of the peer
    are optional: the script waits as long as in the recording, plus a margin.
    """
    protocol = protocols.load(capture.protocol)
    decoders = {party: protocol.decoder(party, capture.transport) for party in protocol.parties}
    channels = protocol.role(role).channels
    steps: list[dict[str, Any]] = []
    # Datagrams are sent at their recorded times, and only this side ends the exchange.
    timed = protocol.role(role).transports == ("udp",)
    peer = ""
    awaited: list[str] = []
    since = 0.0
    for event in capture.only_connection(connection).events:
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
    """Listen like a server of this role, or connect as often as in the recording."""

    async def session(stream: Stream) -> None:
        while await stream.read():
            pass
        await stream.closed()

    known = protocols.role(role)
    if known.transports == ("udp",):
        if not args.connect:
            raise ValueError(f"--connect is needed to replay a recording of {role}")
        for _ in range(connections):
            await (await datagrams.connect(args.connect)).closed.wait()
    elif args.listen:
        addresses = args.listen.split(",")
        if args.listen.endswith(":0"):
            addresses += addresses[-1:] * (len(known.channels) - len(addresses))
        run.here().channels = known.channels or ("",)
        if len(addresses) != len(run.here().channels):
            raise ValueError(
                f"--listen: expected one address for each of {', '.join(known.channels)}"
            )
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
