"""The reference agent: creates a robot, nods and waves, and knows where its hinges are.

It moves a few hinges and talks. It does not walk or play.
"""

import argparse
import asyncio
from collections.abc import Mapping
from math import sin
from typing import Any

from conformance.codec import Frame
from conformance.simspark.scene import number
from mocks.run import note
from mocks.simspark import client
from mocks.simspark.client import Client
from mocks.simspark.settings import AGENTS
from mocks.upper_tester import Operation


class Agent(Client):
    """One agent. It sends its second message once the first has shown effect, or after a while.

    A server may begin to send perceptors after the first, and understand the second only then; or
    it may wait for both.
    """

    def __init__(self, settings: argparse.Namespace) -> None:
        super().__init__(settings)
        self.initialised = False
        self.groups = 0
        self.now = 0.0
        self.game: dict[str, Any] = {}
        self.hinges: dict[str, float] = {}
        self.heard: list[str] = []

    def opened(self) -> None:
        self.create()
        loop = asyncio.get_running_loop()
        loop.call_later(self.settings.patience, self.out_of_patience)

    def out_of_patience(self) -> None:
        if not self.initialised and not self.ended:
            self.initialise()

    def create(self) -> None:
        self.send(f"(scene {self.settings.scene})")

    def initialise(self) -> None:
        self.initialised = True
        self.send(f"(init (unum {self.settings.unum})(teamname {self.settings.team}))")

    def heed(self, frame: Frame) -> None:
        if frame.name == "Empty" or not isinstance(frame.value, list):
            return
        for perceptor in frame.value:
            if isinstance(perceptor, list) and perceptor and isinstance(perceptor[0], str):
                self.perceive(perceptor[0], perceptor[1:])
        self.groups += 1
        if not self.initialised:
            self.initialise()
        else:
            self.act()

    # What it perceives

    def perceive(self, name: str, values: list[Any]) -> None:
        """One perceptor; what it does not know it passes over."""
        found = {item[0]: item[1:] for item in values if isinstance(item, list) and len(item) > 1}
        if name == "HJ" and "n" in found and "ax" in found:
            self.perceive_hinge(str(found["n"][0]), found["ax"][0])
        elif name == "time":
            self.now = number(found.get("now", [""])[0]) or self.now
        elif name == "GS":
            self.game |= found
        elif name == "hear" and values:
            self.hear(str(values[-1]))

    def perceive_hinge(self, name: str, text: Any) -> None:
        angle = number(text)
        if angle is not None:
            self.hinges[name] = angle

    def hear(self, text: str) -> None:
        self.heard = [*self.heard[-9:], text]
        note(f"heard {text}")

    # What it does

    def act(self) -> None:
        """Something of each kind now and then, a nod of the head always."""
        self.send(f"({self.settings.hinge} {self.nod():.2f}){self.now_and_then()}")

    def nod(self) -> float:
        return sin(self.groups / 10)

    def now_and_then(self) -> str:
        if self.groups % 20 == 5:
            return f"(say hello_{self.settings.unum})"
        return "(lae1 1.0)(rae1 -1.0)" if self.groups % 20 == 15 else ""

    def operations(self) -> Mapping[str, Operation]:
        async def state(args: dict[str, Any]) -> Any:
            return self.state()

        async def act(args: dict[str, Any]) -> None:
            self.send(client.text_of(args, "effectors"))

        return {"state": state, "act": act}

    def state(self) -> dict[str, Any]:
        return {"hinges": self.hinges, "now": self.now, "game": self.game, "heard": self.heard}


PEER = Agent


def options(parser: argparse.ArgumentParser) -> None:
    client.options(parser)
    parser.add_argument("--scene", default="rsg/agent/nao/nao.rsg", help="file and arguments")
    parser.add_argument("--unum", type=int, default=0, help="its number; 0 for any that is free")
    parser.add_argument("--team", default="Reference")
    parser.add_argument("--hinge", default="he1", help="the effector that it plays with")
    parser.add_argument(
        "--patience", type=float, default=0.5, metavar="S", help="until init, without perceptors"
    )


async def main(args: argparse.Namespace, peer: type[Agent]) -> int:
    """Play one agent until the server ends it."""
    return await client.play(args, peer(args), AGENTS)
