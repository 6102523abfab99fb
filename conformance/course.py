"""Tables of messages that can follow each other, and walks through these tables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from conformance.definitions.protocol import Protocol
from conformance.judging.coverage import TAKEN
from conformance.judging.judge import Finding

ANY = "anything else"
"""In a row: every step of this sender that has no row of its own in that state."""

_MAX_NAME = 64  # characters of a name in a finding; an IUT can send names of any length

Step = tuple[str, str]
"""A sender, and the name of its message or event."""


@dataclass(frozen=True, slots=True)
class Violates:
    """A wrong step: the violated requirement, the text of the finding, and the next state.

    ``text`` can contain ``{name}``, ``{state}`` and words that the oracle passes to `Walk.step`. If
    ``then`` is None, the state does not change.
    """

    requirement: str
    text: str
    then: StrEnum | None = None


Table = Mapping[StrEnum, Mapping[Step, StrEnum | Violates]]


@dataclass(frozen=True)
class Course:
    """A table; ``of`` names the subject that goes through it.

    ``to`` has the receivers of the sender's messages, if only some peers get them. Raises
    ValueError if the table has no entry for a state.
    """

    of: str
    table: Table
    to: tuple[str, ...] = ()

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
        """Yield all rows of the table in order."""
        for state, steps in self.table.items():
            for step, result in steps.items():
                yield state, step, result

    def lawful_rows(self) -> Iterator[tuple[StrEnum, Step]]:
        """Yield the state and step of each row that lawful steps alone can reach."""
        reached = [self.first]
        for state in reached:
            for step, result in self.table[state].items():
                if not isinstance(result, Violates):
                    yield state, step
                    reached += [result] if result not in reached else []

    def row(self, state: StrEnum, sender: str, name: str) -> Step | None:
        """Return the key of a step's row; None if the step is open."""
        steps = self.table[state]
        return next((row for row in ((sender, name), (sender, ANY)) if row in steps), None)


def courses(protocol: Protocol) -> tuple[Course, ...]:
    """Return the courses of a protocol's oracle, which can have none."""
    return getattr(protocol.oracle, "COURSES", ())


class Walk:
    """The current state of one subject in its course."""

    def __init__(self, course: Course, state: StrEnum | None = None) -> None:
        self.course = course
        self.state = state or course.first

    def step(self, sender: str, name: str, **words: str) -> list[Finding]:
        """Make one step. Return its violation, or an empty list."""
        row = self.course.row(self.state, sender, name)
        if row is None:
            return []
        result = self.course.table[self.state][row]
        if (taken := TAKEN.get()) is not None:
            taken.add((self.course.of, self.state, row))
        if not isinstance(result, Violates):
            self.state = result
            return []
        text = result.text.format(name=name[:_MAX_NAME], state=self.state, **words)
        self.state = result.then or self.state
        return [Finding(result.requirement, text)]
