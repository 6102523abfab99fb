"""Lawful variants of the monitor."""

import re
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import Scene
from mocks import streams
from mocks.deviations import variant
from mocks.simspark.connection import Connection
from mocks.simspark.monitor import Monitor
from mocks.streams import Stream

# Connections


@variant("looks-first", of="monitors.understood")
class LooksFirst(Monitor):
    """Opens and closes a connection to test the server, before its real connection."""

    async def connect(self, address: str) -> Stream:
        await (await super().connect(address)).closed()
        return await super().connect(address)


@variant("commands-beside", of="trainer.known-commands")
class CommandsBeside(Monitor):
    """Has two connections: one for commands, which it does not read, and one to watch."""

    async def connect(self, address: str) -> Stream:
        self.commanding = await super().connect(address)
        return await super().connect(address)

    def command(self, text: str) -> None:
        self.commanding.write(self.encode(text, self))

    async def leave(self) -> None:
        await self.commanding.closed()
        await super().leave()


@variant("commands-apart", of="trainer.known-commands")
class CommandsApart(Monitor):
    """Opens a connection for each command."""

    async def connect(self, address: str) -> Stream:
        self.address = address
        return await super().connect(address)

    def operations(self) -> dict[str, Any]:
        async def command(args: dict[str, Any]) -> None:
            stream = await streams.connect(self.address)
            stream.write(self.encode(args["command"], self))
            await stream.closed()

        return {**super().operations(), "command": command}


# Knowledge


@variant("knows-no-ball", of="graph.poses-known")
class KnowsNoBall(Monitor):
    """Shows meshes without knowing which of them is the ball."""

    def state(self) -> dict[str, Any]:
        return {key: value for key, value in super().state().items() if key != "ball"}


@variant("keeps-little", of="monitors.understood")
class KeepsLittle(Monitor):
    """Keeps only the time, the score and two parameters of the environment."""

    def state(self) -> dict[str, Any]:
        known = super().state()
        names = ("FieldLength", "FieldWidth")
        field = {name: known["environment"][name] for name in names if name in known["environment"]}
        return {
            "environment": field,
            **{name: known[name] for name in ("time", "score_left", "score_right")},
        }


@variant("keeps-nothing", of="monitors.understood")
class KeepsNothing(Monitor):
    """Keeps no values for its state."""

    def state(self) -> dict[str, Any]:
        return {}


@variant("roots-written", of="graph.poses-known")
class RootsWritten(Monitor):
    """Reads scenes only if the root is a node, as in the specification."""

    def take_state(self, frame: Frame) -> None:
        if isinstance(frame.value[-1], list) and frame.value[-1][:1] == ["nd"]:
            super().take_state(frame)


@variant("roots-left-out", of="graph.poses-known")
class RootsLeftOut(Monitor):
    """Reads scenes only if the root is left out, as in the published server."""

    def take_state(self, frame: Frame) -> None:
        if isinstance(frame.value[-1], list) and frame.value[-1][:1] != ["nd"]:
            super().take_state(frame)


@variant("text-only", of="monitors.published-forms")
class TextOnly(Monitor):
    """Ignores updates with types."""

    def take_state(self, frame: Frame) -> None:
        update = frame.name == "PartialState" and len(frame.value) > 2
        typed = update and any(
            node.kind is not None and node.written for node in Scene(frame.value[2]).nodes
        )
        if not typed:
            super().take_state(frame)


@variant("closes-upon-misfits", of="robustness.odd-scenes")
class ClosesUponMisfits(Monitor):
    """Closes its connection after an update that does not fit."""

    def take_state(self, frame: Frame) -> None:
        scene = self.view.scene
        update = frame.name == "PartialState" and len(frame.value) > 2
        if update and scene and len(Scene(frame.value[2]).nodes) != len(scene.nodes):
            self.close()
        else:
            super().take_state(frame)


@variant("closes-what-it-watches", of="robustness.odd-scenes")
class ClosesWhatItWatches(CommandsBeside, ClosesUponMisfits):
    """Has a separate connection for commands, and keeps it after an unfitting update."""

    def log_misread(self, connection: Connection, error: str) -> None:
        self.close()

    async def leave(self) -> None:
        await Monitor.leave(self)


# Commands


@variant("commands-in-lists", of="text.predicates")
class CommandsInLists(Monitor):
    """Puts each command into an extra list, as in the example of getAck."""

    def command(self, text: str) -> None:
        super().command(f"({text})")


@variant("introduces-itself", of="trainer.known-commands")
class IntroducesItself(Monitor):
    """Sends a bare init first, as the published monitor does."""

    def opened(self) -> None:
        self.send("(init)")
        super().opened()


@variant("moves-the-selected", of="move-agent.not-bare")
class MovesTheSelected(Monitor):
    """Sends a bare command agent after the introduction, as the published monitor does."""

    def begin(self) -> None:
        self.command("(agent)")
        super().begin()


@variant("team-first", of="move-agent.unum-and-team")
class TeamFirst(Monitor):
    """Writes the team before the number, and both after the operations."""

    def command(self, text: str) -> None:
        super().command(
            text.replace(
                "(unum 3)(team Right)(pos 1 -2.5 0.4)", "(pos 1 -2.5 0.4)(team Right)(unum 3)"
            )
        )


@variant("numbers-of-its-own", of="trainer.as-asked")
class NumbersOfItsOwn(Monitor):
    """Writes six decimals in fractional numbers, and the score of the right team first."""

    def command(self, text: str) -> None:
        words = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.6f}", text)
        super().command(re.sub(r"\(score (\(left .*?\))(\(right .*?\))", r"(score \2\1", words))


@variant("numbers-with-a-point", of="move-agent.unum-and-team")
class NumbersWithAPoint(Monitor):
    """Writes a point and a zero in all whole numbers."""

    def command(self, text: str) -> None:
        super().command(re.sub(r"(?<= )(\d+)(?=[ )])", r"\1.0", text))


@variant("plain-numbers", of="text.numbers")
class PlainNumbers(Monitor):
    """Reads only states whose numbers have the forms of the published server."""

    def take_state(self, frame: Frame) -> None:
        odd = any(
            re.match(rb"[-+.]?[0-9]", atom) and not _PLAIN.fullmatch(atom)
            for atom in re.findall(rb"[^() \r\n\t]+", frame.raw[4:])
        )
        if not odd:
            super().take_state(frame)


_PLAIN = re.compile(rb"-?[0-9]+([.][0-9]{1,16})?([eE][-+][0-9]{2})?")


@variant("spacious", of="text.white-space")
class Spacious(Monitor):
    """Writes blanks and line ends at all places where they have no meaning."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return super().encode(text.replace("(", "( ").replace(")", " )") + "\r\n", connection)


@variant("silent", of="trainer.known-commands")
class Silent(Monitor):
    """Sends no commands, and has no operation for commands."""

    def operations(self) -> dict[str, Any]:
        return {name: run for name, run in super().operations().items() if name == "state"}
