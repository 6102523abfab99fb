"""What a lab knows of one robot, by its token: how it is linked, what is held, what it told."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Step(StrEnum):
    """How far a robot has come."""

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
    """One robot. Times are the event loop's."""

    token: str
    data: Mapping[str, Any]
    step: Step = Step.REGISTERING
    registrations: list[asyncio.Future[str]] = field(default_factory=list)
    pushes: list[asyncio.Future[str]] = field(default_factory=list)
    wanted: str = ""
    """A command for the next push, where none was held when the user gave it."""
    program: Program | None = None
    programs: int = 0
    """How many programs an unattended lab has given it."""
    seen: float = 0.0
    """When it was last answered, or went without an answer."""
    sensors: Mapping[str, Any] = field(default_factory=dict)


def give(held: list[asyncio.Future[str]], command: str, others: str) -> bool:
    """Answer the newest of these requests with a command, and the others; whether there was one."""
    waiting = [future for future in held if not future.done()]
    for future in waiting:
        future.set_result(command if future is waiting[-1] else others)
    return bool(waiting)
