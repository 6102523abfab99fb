"""Faults of the simulator in framing, roles, transport and encoding."""

import os
import stat
from typing import Any

from mocks.deviations import fault
from mocks.vexide.simulator import Simulator


@fault("blank-after-ready", violates="framing.json-lines", subtle=True)
class BlankAfterReady(Simulator):
    """Writes one blank line after Ready."""

    def become_ready(self) -> None:
        super().become_ready()
        self.write(b"\n")


@fault("echoes-commands", violates="roles.own-messages")
class EchoesCommands(Simulator):
    """Sends each command back as an acknowledgement."""

    def handle(self, name: str, content: Any) -> None:
        super().handle(name, content)
        self.send({"AdiInput": {"port": 0, "voltage": 0.0}})


@fault("echoes-competition", violates="roles.own-messages", subtle=True)
class EchoesCompetition(Simulator):
    """Sends a CompetitionMode back, but only while the program runs."""

    def compete(self, content: dict[str, Any]) -> None:
        super().compete(content)
        if self.started:
            self.send({"CompetitionMode": content})


@fault("pipes-only", violates="transport.standard-streams", needs={"transport": "stdio"})
class PipesOnly(Simulator):
    """Opens its standard input again by name, which fails if the input is a socket."""

    def receive(self, data: bytes) -> None:
        if self.stream.kind == "stdio" and stat.S_ISSOCK(os.fstat(0).st_mode):
            self.close()
        else:
            super().receive(data)


@fault("ready-as-object", violates="encoding.externally-tagged", subtle=True)
class ReadyAsObject(Simulator):
    """Sends Ready as an object that contains an empty object."""

    def send(self, message: Any) -> None:
        super().send({"Ready": {}} if message == "Ready" else message)


@fault("last-line-of-a-read", violates="framing.segmentation", subtle=True)
class LastLineOfARead(Simulator):
    """Reads only the last of several lines that arrive together while the program runs."""

    def receive(self, data: bytes) -> None:
        frames = list(self.decoder.feed(data))
        for frame in frames[-1:] if self.started else frames:
            self.take(frame)
