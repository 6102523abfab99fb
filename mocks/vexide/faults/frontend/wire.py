"""Faults of the frontend in framing, roles, transport, standard error and encoding."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

from mocks.deviations import fault
from mocks.streams import Stream
from mocks.vexide.child import simulator
from mocks.vexide.faults.bases import Altering
from mocks.vexide.faults.robustness import OutlivesInput
from mocks.vexide.frontend import Frontend

_LATE = 0.2  # seconds of delay, so that the session ends before its last line is shown


@fault("blank-before-start", violates="framing.json-lines", subtle=True)
class BlankBeforeStart(Frontend):
    """Writes one blank line before StartExecution."""

    def start(self) -> None:
        self.write(b"\n")
        super().start()


@fault("byte-order-mark", violates="framing.json-lines", subtle=True)
class ByteOrderMark(Frontend):
    """Begins the stream with a byte order mark."""

    def opened(self) -> None:
        self.write(b"\xef\xbb\xbf")
        super().opened()


@fault("sends-events", violates="roles.own-messages")
class SendsEvents(Frontend):
    """Sends its own Log to the simulator after the handshake."""

    def set_up(self) -> None:
        self.send({"Log": {"level": "Info", "message": "the frontend is here"}})
        super().set_up()


@fault("ready-echoed", violates="roles.own-messages", subtle=True)
class ReadyEchoed(Frontend):
    """Sends Ready back before it starts the program."""

    def start(self) -> None:
        self.send("Ready")
        super().start()


class Dropping(Frontend):
    """Closes the stream after the handshake on the transports in `dropped`."""

    dropped: tuple[str, ...]

    def set_up(self) -> None:
        if self.stream.kind in self.dropped:
            self.close()
        else:
            super().set_up()


@fault("pipe-dropped", violates="transport.standard-streams", needs={"transport": "stdio"})
class PipeDropped(Dropping):
    """Closes the stream of a simulator on standard streams after the handshake."""

    dropped = ("stdio",)


@fault("socket-dropped", violates="transport.others", subtle=True, needs={"transport": "tcp"})
class SocketDropped(Dropping):
    """Closes the stream of a simulator on a socket after the handshake."""

    dropped = ("tcp", "unix")


@fault("stderr-is-events", violates="stderr.unstructured", needs={"transport": "stdio"})
class StderrIsEvents(Frontend):
    """Treats lines on standard error that look like events as events."""

    def simulator_said(self, line: str) -> None:
        super().simulator_said(line)
        if self.live:
            self.receive(line.encode() + b"\n")


@fault("stderr-exited", violates="stderr.unstructured", subtle=True, needs={"transport": "stdio"})
class StderrExited(Frontend):
    """Ends the session when Exited comes on standard error; other lines have no effect."""

    def simulator_said(self, line: str) -> None:
        super().simulator_said(line)
        if self.live and line.strip() == '"Exited"':
            self.end_normally(None)


@fault("stderr-unread", violates="stderr.unstructured", subtle=True, needs={"transport": "stdio"})
class StderrUnread(Frontend):
    """Does not read the simulator's standard error, so that its pipe becomes full."""

    def start_simulator(self, command: list[str]) -> AbstractAsyncContextManager[Stream]:
        return simulator(command, None)


@fault("stderr-hidden", violates="stderr.accessible", needs={"transport": "stdio"})
class StderrHidden(Frontend):
    """Does not show the simulator's standard error."""

    def simulator_said(self, line: str) -> None:
        pass


@fault(
    "stderr-hidden-in-session",
    violates="stderr.accessible",
    subtle=True,
    needs={"transport": "stdio"},
)
class StderrHiddenInSession(Frontend):
    """Shows standard error only until the handshake is finished."""

    def simulator_said(self, line: str) -> None:
        if not self.live:
            super().simulator_said(line)


@fault("stderr-read-once", violates="stderr.accessible", subtle=True, needs={"transport": "stdio"})
class StderrReadOnce(Frontend):
    """Shows only the first line on standard error."""

    read = False

    def simulator_said(self, line: str) -> None:
        if not self.read:
            super().simulator_said(line)
        self.read = True


@fault(
    "stderr-in-utf-8-only",
    violates="stderr.accessible",
    subtle=True,
    needs={"transport": "stdio"},
)
class StderrInUtf8Only(Frontend):
    """Shows nothing of standard error after a line that is not UTF-8."""

    spoiled = False

    def simulator_said(self, line: str) -> None:
        self.spoiled = self.spoiled or "\ufffd" in line
        if not self.spoiled:
            super().simulator_said(line)


@fault(
    "stderr-until-the-end", violates="stderr.accessible", subtle=True, needs={"transport": "stdio"}
)
class StderrUntilTheEnd(Frontend):
    """Shows standard error with a short delay, and nothing after the session has ended."""

    def simulator_said(self, line: str) -> None:
        asyncio.get_running_loop().call_later(_LATE, self._show_late, line)

    def _show_late(self, line: str) -> None:
        if self.outcome == "running":
            super().simulator_said(line)


@fault("start-as-object", violates="encoding.externally-tagged", subtle=True)
class StartAsObject(Frontend):
    """Sends StartExecution as an object that contains an empty object."""

    def send(self, message: Any) -> None:
        super().send({"StartExecution": {}} if message == "StartExecution" else message)


@fault("mode-autonomous", violates="encoding.externally-tagged", subtle=True)
class ModeAutonomous(Frontend):
    """Calls the mode Auto by its full name."""

    def write(self, data: bytes) -> None:
        super().write(data.replace(b'"mode":"Auto"', b'"mode":"Autonomous"'))


@fault("connected-left-out", violates="encoding.externally-tagged", subtle=True)
class ConnectedLeftOut(Altering, Frontend):
    """Omits the field connected of a CompetitionMode if it is false."""

    def alter(self, name: str, content: Any) -> None:
        if name == "CompetitionMode" and not content["connected"]:
            del content["connected"]


@fault("last-gearset-lower-case", violates="encoding.externally-tagged", subtle=True)
class LastGearsetLowerCase(Frontend):
    """Writes the gearset of the motor on Smart port 20 in lower case."""

    def write(self, data: bytes) -> None:
        for color in (b"Red", b"Green", b"Blue"):
            if b'"Smart":20}' in data:
                data = data.replace(b'"%s"' % color, b'"%s"' % color.lower())
        super().write(data)


@fault("outlives-input-before-start", violates="robustness.input-end", subtle=True)
class OutlivesInputBeforeStart(OutlivesInput, Frontend):
    """Leaves its side of the stream open if the simulator closes before the program runs."""

    def lingers(self) -> bool:
        return not self.started
