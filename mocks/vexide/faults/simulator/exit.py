"""Faults of the simulator at the program's end."""

import asyncio
from typing import Any

from conformance.vexide.codec import name_of
from mocks.deviations import Fault, Subtle, Table, fault
from mocks.steps import When, alter, before, call, note, noted, send, skip, then
from mocks.vexide.faults.bases import named
from mocks.vexide.programs import idle
from mocks.vexide.simulator import Simulator

_LATE = 0.3  # seconds in which a StartExecution after Exited still has an effect

EXITED = named("Exited")
CRASHED = When(lambda _, error: error is not None)

FAULTS = Table(Simulator)

FAULTS["exit.exited-sent"] = {
    "no-exited": Fault(
        "Closes the stream at the program's end without Exited.", skip("send", EXITED)
    ),
    "no-exited-after-crash": Subtle(
        "Closes the stream without Exited when the program has crashed.",
        skip("send", EXITED & noted("crashed")),
        before("end_program", note("crashed"), CRASHED),
    ),
    "no-exited-after-exit": Subtle(
        "Closes the stream without Exited when the program has called exit.",
        skip("send", EXITED & (lambda sim, _: sim.settings.program == "exit")),
    ),
}

FAULTS["exit.nothing-after"] = {
    "battery-after-exited": Fault(
        "Sends a Battery after Exited.",
        then(
            "send", send({"Battery": {"voltage": 12.0, "current": 0.0, "capacity": 13.0}}), EXITED
        ),
    ),
}

FAULTS["exit.error-log"] = {
    "crash-unlogged": Fault(
        "Sends no Log about the error that ended the program.",
        alter("end_program", lambda *_: None),
    ),
    "only-loading-logged": Subtle(
        "Logs an error while it loads, and none when the program crashes.",
        then("send_signature", call("log", "Error", "no gamepad was found")),
        alter("end_program", lambda *_: None),
    ),
    "crash-logged-as-info": Subtle(
        "Logs the error that ended the program at level Info.",
        alter(
            "log", lambda _, level, text: ("Info", text), lambda _, level, text: level == "Error"
        ),
    ),
}


@fault("stays-open", violates="exit.closes-stream")
class StaysOpen(Simulator):
    """Leaves the stream open after Exited."""

    gone = False  # the program has ended

    def end_program(self, error: str | None) -> None:
        self.gone = True
        super().end_program(error)

    def step(self) -> None:
        if not self.gone:
            super().step()

    def close(self, why: str = "") -> None:
        if not self.gone:
            super().close(why)

    def input_ended(self) -> None:
        self.gone = False
        super().input_ended()


@fault("stays-open-after-crash", violates="exit.closes-stream", subtle=True)
class StaysOpenAfterCrash(StaysOpen):
    """Leaves the stream open after Exited when the program has crashed."""

    crashed = False

    def end_program(self, error: str | None) -> None:
        self.crashed = error is not None
        super().end_program(error)

    def close(self, why: str = "") -> None:
        self.gone = self.gone and self.crashed
        super().close(why)


@fault("serial-after-exited", violates="exit.nothing-after", subtle=True)
class SerialAfterExited(Simulator):
    """Sends the serial data of the program's last step after Exited."""

    late: tuple[Any, ...] = ()

    def end_program(self, error: str | None) -> None:
        events = self.robot.events
        self.late = tuple(event for event in events if name_of(event) == "Serial")
        events[:] = [event for event in events if event not in self.late]
        super().end_program(error)

    def close(self, why: str = "") -> None:
        for event in self.late:
            self.send(event)
        super().close(why)


@fault("runs-again-after-exited", violates="exit.nothing-after", subtle=True)
class RunsAgainAfterExited(Simulator):
    """Closes the stream late after Exited, and runs the program again at a StartExecution."""

    over = False

    def end_program(self, error: str | None) -> None:
        self.report()
        self.send("Exited")
        if self.over:
            self.close()
        else:
            self.over = True
            self.program = idle(self.robot)
            asyncio.get_running_loop().call_later(_LATE, self.close)

    def second_start(self) -> None:
        if self.over:
            self.execute()
        else:
            super().second_start()
