"""What may follow what, as data: a table of states, and the walk of one thing through it.

An oracle names its courses in ``COURSES``; whatever goes through one (a session, one side of it, a
token, a call) has a `Walk` of its own. Rules for a table:

- Every state has an entry. The first is where a walk begins.
- A row says who does what, and where that leads: to a state, or to what it violates.
- A step without a row is open: it violates nothing and leads nowhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from conformance.definitions.protocol import Protocol
from conformance.judging.judge import Finding

ANY = "anything else"
"""In a row: every step of its sender that has no row of its own in that state."""

_SHOWN = 64  # characters of a name that an implementation made up

Step = tuple[str, str]
"""Who does what: a sender, and the name of its message or event."""


@dataclass(frozen=True, slots=True)
class Violates:
    """A wrong step: the requirement, the text of its finding, and the next state (None: the same).

    ``text`` may hold ``{name}``, ``{state}`` and the words that its oracle gives with the step.
    """

    requirement: str
    text: str
    then: StrEnum | None = None


Table = Mapping[StrEnum, Mapping[Step, StrEnum | Violates]]


@dataclass(frozen=True)
class Course:
    """One table; ``of`` says what goes through it. Raises ValueError where a state is missing."""

    of: str
    table: Table

    def __post_init__(self) -> None:
        for state, step, result in self.rows():
            following = result.then or state if isinstance(result, Violates) else result
            if following not in self.table:
                raise ValueError(
                    f"the course of {self.of}: {state}, {' '.join(step)}: no state {following}"
                )

    @property
    def first(self) -> StrEnum:
        return next(iter(self.table))

    def rows(self) -> Iterator[tuple[StrEnum, Step, StrEnum | Violates]]:
        """All rows of the table, in their order."""
        for state, steps in self.table.items():
            for step, result in steps.items():
                yield state, step, result

    def row(self, state: StrEnum, sender: str, name: str) -> Step | None:
        """The row of a step; None where the step is open."""
        steps = self.table[state]
        return next((row for row in ((sender, name), (sender, ANY)) if row in steps), None)


def courses(protocol: Protocol) -> tuple[Course, ...]:
    """The courses of a protocol, which its oracle names; none where it has no order to judge."""
    return getattr(protocol.oracle, "COURSES", ())


class Walk:
    """How far one thing has come in its course."""

    def __init__(self, course: Course, state: StrEnum | None = None) -> None:
        self.course = course
        self.state = state or course.first

    def step(self, sender: str, name: str, **words: str) -> list[Finding]:
        """Go on by one step; what it violates, which is one requirement at most."""
        row = self.course.row(self.state, sender, name)
        if row is None:
            return []
        result = self.course.table[self.state][row]
        if not isinstance(result, Violates):
            self.state = result
            return []
        text = result.text.format(name=name[:_SHOWN], state=self.state, **words)
        self.state = result.then or self.state
        return [Finding(result.requirement, text)]
