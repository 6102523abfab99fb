"""Faults of the simulator in framing, roles, transport and encoding."""

import os
import stat

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import alter, send, then, write
from mocks.vexide.faults.bases import RUNNING, named
from mocks.vexide.simulator import Simulator

FAULTS = Table(Simulator)

FAULTS["framing.json-lines"] = {
    "blank-after-ready": Subtle(
        "Writes one blank line after Ready.", then("become_ready", write(b"\n"))
    ),
}

FAULTS["roles.own-messages"] = {
    "echoes-commands": Fault(
        "Sends each command back as an acknowledgement.",
        then("handle", send({"AdiInput": {"port": 0, "voltage": 0.0}})),
    ),
    "echoes-competition": Subtle(
        "Sends a CompetitionMode back, but only while the program runs.",
        then("compete", lambda sim, mode: sim.send({"CompetitionMode": mode}), RUNNING),
    ),
}

FAULTS["encoding.externally-tagged"] = {
    "ready-as-object": Subtle(
        "Sends Ready as an object that contains an empty object.",
        alter("send", lambda *_: {"Ready": {}}, named("Ready")),
    ),
}


@fault("pipes-only", violates="transport.standard-streams", needs={"transport": "stdio"})
class PipesOnly(Simulator):
    """Opens its standard input again by name, which fails if the input is a socket."""

    def receive(self, data: bytes) -> None:
        if self.stream.kind == "stdio" and stat.S_ISSOCK(os.fstat(0).st_mode):
            self.close()
        else:
            super().receive(data)


@fault("last-line-of-a-read", violates="framing.segmentation", subtle=True)
class LastLineOfARead(Simulator):
    """Reads only the last of several lines that arrive together while the program runs."""

    def receive(self, data: bytes) -> None:
        frames = list(self.decoder.feed(data))
        for frame in frames[-1:] if self.started else frames:
            self.take(frame)
