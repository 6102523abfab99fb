"""State that a lab keeps of one robot, by its token."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Step(StrEnum):
    """State of a robot in a lab."""

    REGISTERING = "registering"
    LINKED = "linked"
    RUNNING = "running"


@dataclass(frozen=True, slots=True)
class Program:
    """A file as it is sent to robots."""

    name: str
    data: bytes


@dataclass
class KnownRobot:
    """A robot. Times are those of the event loop, in seconds."""

    token: str
    data: Mapping[str, Any]
    step: Step = Step.REGISTERING
    registrations: list[asyncio.Future[str]] = field(default_factory=list)
    pushes: list[asyncio.Future[str]] = field(default_factory=list)
    wanted: str = ""
    """Command for the next push, if no push was unanswered when the user gave it."""
    program: Program | None = None
    programs: int = 0
    """Number of programs that an unattended lab has given to this robot."""
    seen: float = 0.0
    """Time of the last answer, or of the disconnect without an answer."""
    sensors: Mapping[str, Any] = field(default_factory=dict)


def give(held: list[asyncio.Future[str]], command: str, others: str) -> bool:
    """Answer the newest request with a command, the others with `others`. True if any waited."""
    waiting = [future for future in held if not future.done()]
    for future in waiting:
        future.set_result(command if future is waiting[-1] else others)
    return bool(waiting)
