"""Lawful variants of the monitor."""

import asyncio
import re
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import Scene
from mocks import streams
from mocks.deviations import Table, Variant, variant
from mocks.simspark.connection import Connection
from mocks.simspark.monitor import Monitor
from mocks.simspark.variants.bases import NOTHING, knows, spaced, writes
from mocks.steps import Change, alter, before, call, look, only, returning, send, skip
from mocks.streams import Stream

PLAIN = re.compile(rb"-?[0-9]+([.][0-9]{1,16})?([eE][-+][0-9]{2})?")


def commands(change: Any) -> Change:
    """Send commands in another form."""
    return alter("command", lambda _, text: change(text))


def _little(known: dict[str, Any]) -> dict[str, Any]:
    field = known["environment"]
    names = ("FieldLength", "FieldWidth")
    return {
        "environment": {name: field[name] for name in names if name in field},
        **{name: known[name] for name in ("time", "score_left", "score_right")},
    }


def _has_root(_: Monitor, frame: Frame) -> bool:
    scene = frame.value[-1]
    return isinstance(scene, list) and scene[:1] == ["nd"]


def _has_no_root(_: Monitor, frame: Frame) -> bool:
    scene = frame.value[-1]
    return isinstance(scene, list) and scene[:1] != ["nd"]


def _is_typed_update(_: Monitor, frame: Frame) -> bool:
    if frame.name != "PartialState" or len(frame.value) <= 2:
        return False
    return any(node.kind is not None and node.written for node in Scene(frame.value[2]).nodes)


def _has_odd_numbers(_: Monitor, frame: Frame) -> bool:
    return any(
        re.match(rb"[-+.]?[0-9]", atom) and not PLAIN.fullmatch(atom)
        for atom in re.findall(rb"[^() \r\n\t]+", frame.raw[4:])
    )


def _six_decimals(text: str) -> str:
    words = re.sub(r"-?\d+\.\d+", lambda found: f"{float(found[0]):.6f}", text)
    return re.sub(r"\(score (\(left .*?\))(\(right .*?\))", r"(score \2\1", words)


VARIANTS = Table(Monitor)

VARIANTS["graph.poses-known"] = {
    "knows-no-ball": Variant(
        "Shows meshes without knowing which of them is the ball.",
        knows(lambda known: {name: value for name, value in known.items() if name != "ball"}),
    ),
    "roots-written": Variant(
        "Reads scenes only if the root is a node, as in the specification.",
        only("take_state", _has_root),
    ),
    "roots-left-out": Variant(
        "Reads scenes only if the root is left out, as in the published server.",
        only("take_state", _has_no_root),
    ),
}

VARIANTS["monitors.understood"] = {
    "looks-first": Variant(
        "Opens and closes a connection to test the server, before its real connection.",
        before("connect", look),
    ),
    "keeps-little": Variant(
        "Keeps only the time, the score and two parameters of the environment.", knows(_little)
    ),
    "keeps-nothing": Variant("Keeps no values for its state.", NOTHING),
}

VARIANTS["monitors.published-forms"] = {
    "text-only": Variant("Ignores updates with types.", skip("take_state", _is_typed_update)),
}

VARIANTS["text.predicates"] = {
    "commands-in-lists": Variant(
        "Puts each command into an extra list, as in the example of getAck.",
        commands(lambda text: f"({text})"),
    ),
}

VARIANTS["trainer.known-commands"] = {
    "introduces-itself": Variant(
        "Sends a bare init first, as the published monitor does.",
        before("opened", send("(init)")),
    ),
    "silent": Variant(
        "Sends no commands, and has no operation for commands.",
        returning("operations", lambda known: {"state": known["state"]}),
    ),
}

VARIANTS["move-agent.not-bare"] = {
    "moves-the-selected": Variant(
        "Sends a bare command agent after the introduction, as the published monitor does.",
        before("begin", call("command", "(agent)")),
    ),
}

VARIANTS["move-agent.unum-and-team"] = {
    "team-first": Variant(
        "Writes the team before the number, and both after the operations.",
        commands(
            lambda text: text.replace(
                "(unum 3)(team Right)(pos 1 -2.5 0.4)", "(pos 1 -2.5 0.4)(team Right)(unum 3)"
            )
        ),
    ),
    "numbers-with-a-point": Variant(
        "Writes a point and a zero in all whole numbers.",
        commands(lambda text: re.sub(r"(?<= )(\d+)(?=[ )])", r"\1.0", text)),
    ),
}

VARIANTS["trainer.as-asked"] = {
    "numbers-of-its-own": Variant(
        "Writes six decimals in fractional numbers, and the score of the right team first.",
        commands(_six_decimals),
    ),
}

VARIANTS["text.numbers"] = {
    "plain-numbers": Variant(
        "Reads only states whose numbers have the forms of the published server.",
        skip("take_state", _has_odd_numbers),
    ),
}

VARIANTS["text.white-space"] = {
    "spacious": Variant(
        "Writes blanks and line ends at all places where they have no meaning.", writes(spaced)
    ),
}


@variant("redraws-scores", of="monitors.understood")
class RedrawsScores(Monitor):
    """Shows the time immediately, and redraws the score each 0.4 s."""

    drawn: tuple[float, dict[str, Any]] = 0.0, {}

    def state(self) -> dict[str, Any]:
        known = super().state()
        now = asyncio.get_running_loop().time()
        if now > self.drawn[0] + 0.4:
            self.drawn = now, {name: known[name] for name in ("score_left", "score_right")}
        return known | self.drawn[1]


@variant("leaves-after-the-game", of="monitors.understood")
class LeavesAfterTheGame(Monitor):
    """Exits in order when the play mode becomes GameOver."""

    def take_state(self, frame: Frame) -> None:
        super().take_state(frame)
        if self.view.play_mode == "GameOver":
            self.close()


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
