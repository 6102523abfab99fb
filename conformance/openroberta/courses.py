"""State table of one token: the requests that its robot can send, and their answers."""

from collections.abc import Mapping
from enum import StrEnum

from conformance.course import Course, Violates

ROBOT, LAB = "robot", "lab"


class Step(StrEnum):
    """State of the robot of one token. Each value completes the sentence "a robot ..."."""

    UNREGISTERED = "that has never registered"
    REGISTERING = "whose registration has no answer yet"
    ABORTED = "whose registration was aborted"
    LINKED = "that is registered"
    ANNOUNCED = "that received download"
    PUSHED_INSTEAD = "that received download, and pushed instead of fetching"
    GOT_REPEAT = "that received download, and got repeat for a push instead"
    FETCHING = "that is fetching its program"
    RUNNING = "that is running a program"
    UPDATING = "that received update"
    PUSH_ABORTED = "whose push was aborted"


_FROM = "received {name} from a robot {state}"
_REGISTERS: Mapping[tuple[str, str], Step] = {(ROBOT, "Register"): Step.REGISTERING}

COURSE = Course(
    "a token, by the requests of its robot and their answers",
    {
        Step.UNREGISTERED: {**_REGISTERS, (ROBOT, "Push"): Violates("register.first", _FROM)},
        Step.REGISTERING: {
            (LAB, "Repeat"): Step.LINKED,
            (LAB, "Abort"): Step.ABORTED,
            (LAB, "Refusal"): Step.UNREGISTERED,
            (ROBOT, "Push"): Violates("register.first", _FROM),
        },
        Step.ABORTED: {**_REGISTERS, (ROBOT, "Push"): Violates("register.after-abort", _FROM)},
        Step.LINKED: {
            **_REGISTERS,
            (LAB, "Download"): Step.ANNOUNCED,
            (LAB, "Update"): Step.UPDATING,
            (LAB, "Abort"): Step.PUSH_ABORTED,
        },
        Step.ANNOUNCED: {
            **_REGISTERS,
            (ROBOT, "DownloadRequest"): Step.FETCHING,
            (ROBOT, "Push"): Violates("run.silent-while-fetching", _FROM, Step.PUSHED_INSTEAD),
        },
        Step.PUSHED_INSTEAD: {
            **_REGISTERS,
            (ROBOT, "DownloadRequest"): Step.FETCHING,
            # A robot repeats a push that gets no answer.
            (LAB, "Repeat"): Step.GOT_REPEAT,
            (LAB, "Download"): Step.ANNOUNCED,
            (LAB, "Update"): Step.UPDATING,
            (LAB, "Abort"): Step.PUSH_ABORTED,
        },
        Step.GOT_REPEAT: {
            **_REGISTERS,
            (ROBOT, "DownloadRequest"): Step.FETCHING,
            (LAB, "Download"): Step.ANNOUNCED,
            (LAB, "Update"): Step.UPDATING,
            (LAB, "Abort"): Step.PUSH_ABORTED,
            (ROBOT, "Push"): Violates("run.requests-file", _FROM),
        },
        Step.FETCHING: {
            **_REGISTERS,
            (LAB, "File"): Step.RUNNING,
            (LAB, "Refusal"): Step.LINKED,
            (ROBOT, "Push"): Violates("run.silent-while-fetching", _FROM),
        },
        Step.RUNNING: {**_REGISTERS, (ROBOT, "Push"): Step.LINKED},
        Step.UPDATING: {**_REGISTERS, (ROBOT, "Push"): Violates("update.stops-pushing", _FROM)},
        Step.PUSH_ABORTED: {
            **_REGISTERS,
            (ROBOT, "Push"): Violates("robustness.abort-of-push", _FROM),
        },
    },
)
