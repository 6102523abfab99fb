"""What may follow what in a vexide session: a table for each thing that has an order of its own."""

from enum import StrEnum

from conformance.course import ANY, Course, Violates

SIMULATOR, FRONTEND = "simulator", "frontend"


class Session(StrEnum):
    """How far a session has come."""

    OPENED = "opened"
    UNASKED = "answered before it was asked"
    OFFERED = "a Handshake was offered"
    HURRIED = "a Handshake was offered, and Ready came instead of an answer"
    SHAKEN = "the handshake is finished"
    EXITED = "exited"


class Frontend(StrEnum):
    """Whether the frontend has said anything."""

    SILENT = "the frontend is silent"
    HEARD = "the frontend has spoken"


class Readiness(StrEnum):
    """Whether the simulator is ready."""

    PREPARING = "not ready"
    READY = "ready"


class Mode(StrEnum):
    """Whether the frontend has chosen a mode."""

    BEFORE = "nothing to choose before the handshake is finished"
    OPEN = "no mode chosen"
    CHOSEN = "a mode chosen"


class Execution(StrEnum):
    """How far the execution of the robot program has come."""

    WAITING = "not started"
    SIGNED = "not started, signature sent"
    STARTED_UNSIGNED = "started, no signature sent"
    STARTED = "started, signature sent"


class Run(StrEnum):
    """Whether only the program's end can end the stream."""

    BEFORE = "not started"
    STARTED = "started, and nothing shown yet"
    SHOWN = "started, and it has shown something"
    OPEN = "over, or the frontend has said something since"


class Contact(StrEnum):
    """What the finger of the user does."""

    UP = "not touching"
    DOWN = "pressed"
    HELD = "held"


_BEFORE = "{name} came before the handshake was finished"
_EARLY = Violates("handshake.nothing-before", _BEFORE)
_HURRIED = Violates("handshake.nothing-before", _BEFORE, Session.HURRIED)
_FIRST = Violates("handshake.frontend-begins", "the first command is {name}", Frontend.HEARD)
_LATE = Violates("exit.nothing-after", "{name} came after Exited")
_UNSIGNED = Violates("signature.sent", "{name} came and no VCodeSig had come before")
_NOT_STARTED = Violates("start.not-before", "{name} came before StartExecution was sent")
_NO_PRESS = "a touch began with {event}, not with Pressed"
END = "the end of its stream"
BROKEN = "a line that is not a message"

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
        # The text asks for StartExecution after Ready, whatever the simulator has left out.
        Session.HURRIED: {
            (FRONTEND, "Handshake"): Session.HURRIED,
            (FRONTEND, "StartExecution"): Session.HURRIED,
            (SIMULATOR, "Handshake"): Session.SHAKEN,
            (FRONTEND, ANY): _EARLY,
            (SIMULATOR, ANY): _EARLY,
        },
        Session.SHAKEN: {(SIMULATOR, "Exited"): Session.EXITED},
        # A Log may come at any time after the handshake.
        Session.EXITED: {(SIMULATOR, "Log"): Session.EXITED, (SIMULATOR, ANY): _LATE},
    },
)

BEGINNING = Course(
    "what the frontend says first",
    {
        Frontend.SILENT: {(FRONTEND, "Handshake"): Frontend.HEARD, (FRONTEND, ANY): _FIRST},
        Frontend.HEARD: {},
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
                "setup.competition-mode", "{name} was sent and no CompetitionMode before it"
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
        Run.BEFORE: {(FRONTEND, "StartExecution"): Run.STARTED},
        Run.STARTED: {
            (SIMULATOR, "Log"): Run.STARTED,
            (SIMULATOR, "Ready"): Run.STARTED,
            (SIMULATOR, "VCodeSig"): Run.STARTED,
            (SIMULATOR, "Exited"): Run.OPEN,
            (SIMULATOR, BROKEN): Run.OPEN,
            (SIMULATOR, ANY): Run.SHOWN,
            (FRONTEND, ANY): Run.OPEN,
        },
        Run.SHOWN: {
            (SIMULATOR, "Exited"): Run.OPEN,
            (SIMULATOR, BROKEN): Run.OPEN,
            (SIMULATOR, END): Violates(
                "exit.exited-sent", "the stream ended while the program ran, without Exited"
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
            # That nothing touches the screen may be said at any time, and again.
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
