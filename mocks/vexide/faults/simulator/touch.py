"""Faults of the simulator with touches of the display."""

from typing import Any

from mocks.deviations import Fault, Subtle, Table
from mocks.steps import When, alter, before, instead, put, skip, then
from mocks.vexide.faults.bases import ENABLED, RUNNING
from mocks.vexide.robot import Robot
from mocks.vexide.simulator import Simulator

HELD = When(lambda _, touch: touch["event"] == "Held")
HELD_BEFORE = When(lambda sim, *_: (sim.robot.touch or {}).get("event") == "Held")


class Untouched(Robot):
    """A robot whose program reports nothing about the display until the first touch."""

    def serial(self, channel: int, data: bytes) -> None:
        if self.touch is not None or not data.startswith(b"touch"):
            super().serial(channel, data)


def _turned(_: Simulator, touch: dict[str, Any]) -> dict[str, Any]:
    return {**touch, "pos": {"x": touch["pos"]["y"], "y": touch["pos"]["x"]}}


FAULTS = Table(Simulator)

FAULTS["touch.registered"] = {
    "touch-ignored": Fault("Ignores Touch.", skip("touch")),
    "touch-transposed": Subtle(
        "Exchanges the coordinates of a held touch, but of no other touch.",
        alter("touch", _turned, HELD),
    ),
    "touch-at-zero-ignored": Subtle(
        "Ignores a touch if a coordinate is zero.",
        skip("touch", lambda _, touch: 0 in touch["pos"].values()),
    ),
    "touch-held-still": Subtle(
        "Does not notice that a held touch moves.", skip("touch", HELD & HELD_BEFORE)
    ),
    "touch-before-start-only": Subtle(
        "Ignores Touch while the program runs.", skip("touch", RUNNING)
    ),
    "touch-lost-disabled": Subtle(
        "Forgets a touch of the display when the robot is disabled.",
        then("compete", put("robot.touch", None), ~ENABLED),
    ),
    "touch-ignored-disabled": Subtle(
        "Ignores a touch while the robot is disabled; the program reports only touches.",
        instead("build", lambda *_: Untouched()),
        skip("touch", ~ENABLED),
    ),
    "touch-of-setup-lost": Subtle(
        "Starts its program without the touches of setup; the program reports only touches.",
        instead("build", lambda *_: Untouched()),
        before("execute", put("robot.touch", None)),
    ),
}
