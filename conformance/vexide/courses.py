"""State tables of a vexide session, one for each aspect with an order."""

from enum import StrEnum

from conformance.course import ANY, Course, Violates
from conformance.definitions import protocols
from conformance.judging.space import NOISE

SIMULATOR, FRONTEND = "simulator", "frontend"
EVENTS_OF_ROBOT_CODE = protocols.load("vexide").groups["robot-code"]
"""The names of events that only a running robot program causes."""


class Session(StrEnum):
    """The progress of a session."""

    OPENED = "opened"
    UNASKED = "answered without a Handshake command"
    OFFERED = "a Handshake was offered"
    HURRIED = "Ready arrived after the offer, instead of an answer"
    SHAKEN = "the handshake is finished"
    EXITED = "exited"


class Frontend(StrEnum):
    """Record if the frontend has sent a message."""

    SILENT = "the frontend has sent nothing"
    HAS_SENT = "the frontend has sent a message"


class Readiness(StrEnum):
    """The readiness of the simulator."""

    PREPARING = "not ready"
    READY = "ready"


class Mode(StrEnum):
    """The choice of a competition mode by the frontend."""

    BEFORE = "before the end of the handshake"
    OPEN = "no mode chosen"
    CHOSEN = "a mode chosen"


class Execution(StrEnum):
    """The progress of the robot program's execution."""

    WAITING = "not started"
    SIGNED = "not started, signature sent"
    STARTED_UNSIGNED = "started, no signature sent"
    STARTED = "started, signature sent"


class Run(StrEnum):
    """The states that decide if an end of the stream needs an Exited before it."""

    BEFORE = "not ready"
    READY = "ready"
    STARTED = "started, no output yet"
    WITH_OUTPUT = "started, with output"
    OPEN = "finished, or the frontend has sent a message since the start"


class Contact(StrEnum):
    """The state of the user's finger on the screen."""

    UP = "not touching"
    DOWN = "pressed"
    HELD = "held"


_BEFORE = "{name} came before the handshake was finished"
_EARLY = Violates("handshake.nothing-before", _BEFORE)
_HURRIED = Violates("handshake.nothing-before", _BEFORE, Session.HURRIED)
_NOT_FIRST = Violates("handshake.frontend-begins", "the first command is {name}", Frontend.HAS_SENT)
_AFTER_EXITED = Violates("exit.nothing-after", "{name} came after Exited")
_UNSIGNED = Violates("signature.sent", "{name} came without a VCodeSig before it")
_NOT_STARTED = Violates("start.not-before", "{name} came before StartExecution was sent")
_NO_PRESS = "a touch began with {event}, not with Pressed"
END = "the end of its stream"
BROKEN = NOISE

SESSION = Course(
    "a session",
    {
        Session.OPENED: {
            (FRONTEND, "Handshake"): Session.OFFERED,
            (SIMULATOR, "Handshake"): Session.UNASKED,
            (FRONTEND, ANY): _EARLY,
            (SIMULATOR, ANY): _EARLY,
        },
        Session.UNASKED: {
            (FRONTEND, "Handshake"): Session.SHAKEN,
            (SIMULATOR, "Handshake"): Session.UNASKED,
            (SIMULATOR, ANY): _EARLY,
        },
        Session.OFFERED: {
            (FRONTEND, "Handshake"): Session.OFFERED,
            (SIMULATOR, "Handshake"): Session.SHAKEN,
            (FRONTEND, ANY): _EARLY,
            (SIMULATOR, "Ready"): _HURRIED,
            (SIMULATOR, ANY): _EARLY,
        },
        # A StartExecution after Ready is allowed here, because the frontend must send one after
        # Ready. The missing Handshake is the simulator's violation.
        Session.HURRIED: {
            (FRONTEND, "Handshake"): Session.HURRIED,
            (FRONTEND, "StartExecution"): Session.HURRIED,
            (SIMULATOR, "Handshake"): Session.SHAKEN,
            (FRONTEND, ANY): _EARLY,
            (SIMULATOR, ANY): _EARLY,
        },
        Session.SHAKEN: {(SIMULATOR, "Exited"): Session.EXITED},
        # A Log may come at any time after the handshake.
        Session.EXITED: {(SIMULATOR, "Log"): Session.EXITED, (SIMULATOR, ANY): _AFTER_EXITED},
    },
)

BEGINNING = Course(
    "the first command of the frontend",
    {
        Frontend.SILENT: {(FRONTEND, "Handshake"): Frontend.HAS_SENT, (FRONTEND, ANY): _NOT_FIRST},
        Frontend.HAS_SENT: {},
    },
)

READINESS = Course(
    "the readiness of the simulator",
    {
        Readiness.PREPARING: {
            (SIMULATOR, "Ready"): Readiness.READY,
            (FRONTEND, "StartExecution"): Violates(
                "start.waits-for-ready", "{name} was sent before Ready came"
            ),
        },
        Readiness.READY: {(SIMULATOR, "Ready"): Violates("ready.once", "{name} came again")},
    },
)

MODE = Course(
    "the mode of the competition",
    {
        Mode.BEFORE: {
            (FRONTEND, "CompetitionMode"): Mode.CHOSEN,
            (SIMULATOR, "Handshake"): Mode.OPEN,
        },
        Mode.OPEN: {
            (FRONTEND, "CompetitionMode"): Mode.CHOSEN,
            (FRONTEND, "StartExecution"): Violates(
                "setup.competition-mode", "{name} was sent without a CompetitionMode before it"
            ),
        },
        Mode.CHOSEN: {},
    },
)

EXECUTION = Course(
    "the execution of the robot program",
    {
        Execution.WAITING: {
            (FRONTEND, "StartExecution"): Execution.STARTED_UNSIGNED,
            (SIMULATOR, "VCodeSig"): Execution.SIGNED,
            (SIMULATOR, "Serial"): _NOT_STARTED,
        },
        Execution.SIGNED: {
            (FRONTEND, "StartExecution"): Execution.STARTED,
            (SIMULATOR, "Serial"): _NOT_STARTED,
        },
        Execution.STARTED_UNSIGNED: {
            (SIMULATOR, "VCodeSig"): Execution.STARTED,
            (SIMULATOR, "Serial"): _UNSIGNED,
            (SIMULATOR, "Exited"): _UNSIGNED,
        },
        Execution.STARTED: {},
    },
)

RUN = Course(
    "the run of the robot program",
    {
        # A StartExecution before Ready starts no program.
        Run.BEFORE: {(SIMULATOR, "Ready"): Run.READY},
        Run.READY: {(FRONTEND, "StartExecution"): Run.STARTED},
        Run.STARTED: {
            (SIMULATOR, "Serial"): Run.WITH_OUTPUT,
            (SIMULATOR, "Exited"): Run.OPEN,
            (SIMULATOR, BROKEN): Run.OPEN,
            (FRONTEND, ANY): Run.OPEN,
        },
        Run.WITH_OUTPUT: {
            (SIMULATOR, "Exited"): Run.OPEN,
            (SIMULATOR, BROKEN): Run.OPEN,
            (SIMULATOR, END): Violates(
                "exit.exited-sent", "the stream ended without Exited while the program ran"
            ),
            (FRONTEND, ANY): Run.OPEN,
        },
        Run.OPEN: {},
    },
)

TOUCH = Course(
    "a touch of the screen",
    {
        Contact.UP: {
            (FRONTEND, "Touch Pressed"): Contact.DOWN,
            # Released can be sent at any time, also repeatedly.
            (FRONTEND, "Touch Held"): Violates("touch.single", _NO_PRESS, Contact.HELD),
        },
        Contact.DOWN: {
            (FRONTEND, "Touch Held"): Contact.HELD,
            (FRONTEND, "Touch Released"): Contact.UP,
        },
        Contact.HELD: {
            (FRONTEND, "Touch Released"): Contact.UP,
            (FRONTEND, "Touch Pressed"): Violates(
                "touch.held", "{event} came after Held within one touch", Contact.DOWN
            ),
        },
    },
)

COURSES = (SESSION, BEGINNING, READINESS, MODE, EXECUTION, RUN, TOUCH)
