"""Judge a session while it runs: bytes > frame > message > schema check > oracle > findings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from typing import Protocol as Interface

from conformance.codec import Decoder, Frame, Prompting
from conformance.definitions.protocol import MessageType, Protocol
from conformance.definitions.schemas import SchemaError
from conformance.judging.coverage import SessionCoverage, Tally

# Different findings of one role that are kept in a session, so that memory has a bound.
MAX_FINDINGS = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation of a requirement, and the event of the transcript that shows the violation.

    ``path`` leads to the wrong member of the decoded message, if the member is known.
    ``inconclusive``: the session does not decide if this is a violation. For example, a message
    that is missing at the end of the session can have been late. ``earlier``: the fault is in the
    sender's previous known message, and is visible only now. If the sender has sent no known
    message before, the fault is in its first one.
    """

    requirement: str
    message: str
    event: int | None = None
    path: tuple[str | int, ...] = ()
    inconclusive: bool = False
    earlier: bool = False


class Oracle(Interface):
    """The passive judge of one protocol: which message or event can follow which.

    An oracle sees both sides and does not know which side is under test. Each call returns the
    violations of the event. It adds the exercised requirements to ``exercised``, which the judge
    collects and clears.

    Optional methods of an oracle:

    - ``reset(sender)``: the sender ends its stream by a reset. Data in both directions can be
      lost.
    - ``has_said_goodbye(sender)``: returns True if the sender has said goodbye. Both sides can end
      the session then, without a violation.

    An optional constant of the oracle's module, ``ONE_SIDED``, contains the requirements about the
    names and directions of messages. They are judged even if only the messages of one side are
    known.

    If several connections form one conversation, the oracle's module has a class ``Conversation``.
    Each instance of an IUT has one conversation, which is the only, optional, argument of
    ``Oracle``. The argument of ``Conversation`` is True if the IUT was running before the session.
    """

    exercised: set[str]

    def message(self, sender: str, name: str, value: Any) -> Iterable[Finding]:
        """Judge a message with correct framing; its value can violate its schema."""
        ...

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterable[Finding]:
        """Judge a message that its sender does not have in the protocol.

        ``foreign``: the protocol has this message for another role.
        """
        ...

    def broken(self, sender: str) -> bool | None:
        """Note bytes that are not a message; the codec already reports the violation.

        Returns True if the bytes are no violation, because they answer bytes that are not a
        message.
        """
        ...

    def closed(self, sender: str) -> Iterable[Finding]:
        """Judge the end of one side's stream."""
        ...


class Judge:
    """Apply codec, schemas and oracle to one session.

    ``judged`` are the roles whose violations count; the other roles only move the oracle.
    ``fragment``: the session is only a list of messages. Then schemas apply, and those findings of
    the oracle that need no peer.
    ``transport`` is the transport of the session; by default, the first transport of its roles.
    ``conversation`` is the state shared with the oracles of the IUT's other sessions. ``shows``
    counts what the session shows.
    """

    def __init__(
        self,
        protocol: Protocol,
        judged: Iterable[str],
        fragment: bool = False,
        transport: str = "",
        conversation: Any = None,
        shows: SessionCoverage | None = None,
    ) -> None:
        self._coverage = shows or Tally(protocol).session()
        self._protocol = protocol
        self._judged = frozenset(judged)
        self._transport = transport
        self._decoders: dict[str, Decoder] = {
            party: protocol.decoder(party, transport) for party in protocol.parties
        }
        self._prompting = {
            party: decoder
            for party, decoder in self._decoders.items()
            if isinstance(decoder, Prompting)
        }
        shared = () if conversation is None else (conversation,)
        known = frozenset(getattr(protocol.oracle, "ONE_SIDED", ())) if fragment else None
        self._only: frozenset[str] | None = known
        """The requirements of the oracle that count; None if all count."""
        judges = known is None or len(known) > 0
        self._oracle: Oracle | None = protocol.oracle.Oracle(*shared) if judges else None
        self._exercised: dict[str, set[str]] = {role: set() for role in self._judged}
        self._wrong: dict[MessageType, list[list[SchemaError]]] = {}
        """The schema errors of the first wrong messages, by message type."""
        self._known: dict[str, int | None] = {}
        """The event of each sender's latest known message, or else of its first frame."""
        self._ending: set[str] = set()
        """The senders whose streams have ended."""
        self._cut = False
        self._found: dict[str, Counter[tuple[str, str]]] = {r: Counter() for r in self._judged}
        self.found: list[Finding] = []
        """All findings, including inconclusive ones."""
        self.spoiled = False
        """Bytes came that are not a message, so all later findings can be mere consequences."""
        self.foreign = ""
        """The name of the first message that only the other role sends; empty if none came."""

    @property
    def findings(self) -> list[Finding]:
        """The violations of this session so far."""
        return [finding for finding in self.found if not finding.inconclusive]

    @property
    def exercised(self) -> set[str]:
        """The requirements that this session has exercised so far."""
        return set().union(*(self.exercised_by(role) for role in self._judged))

    def exercised_by(self, role: str) -> set[str]:
        """The requirements that one judged role has exercised so far."""
        return self._exercised[role]

    def times(self, role: str) -> Mapping[tuple[str, str], int]:
        """The number of times that a role made each violation, by requirement and text."""
        return self._found[role]

    def decode(self, sender: str, data: bytes) -> list[Frame]:
        """Cut the next bytes of one side into frames."""
        self._ending.discard(sender)
        return self._decoders[sender].feed(data)

    def is_unreadable(self, sender: str) -> bool:
        """Return whether no further message of one side can be decoded."""
        return bool(getattr(self._decoders[sender], "lost", ""))

    def prompt(self, sender: str) -> bytes:
        """The bytes that a side awaits inside a message before it continues; usually empty."""
        return self._prompting[sender].prompt() if sender in self._prompting else b""

    def frame(self, index: int | None, sender: str, frame: Frame) -> None:
        """Judge one frame, which is event ``index`` of the transcript."""
        if (sender, frame.name) in self._protocol.messages:
            self._known[sender] = index
        self._known.setdefault(sender, index)
        if frame.name is None and not self._cut:
            self._coverage.spoil()
        with self._coverage.count_rows():
            self._add(index, sender, self._frame(sender, frame))
        if (sender, frame.name) in self._protocol.messages:
            self._coverage.message(sender, frame)

    def count_arrival(self, sender: str, pieces: Sequence[int], frames: Sequence[Frame]) -> None:
        """Count the framing of these frames, which came in pieces of these sizes."""
        self._coverage.count_arrival(sender, pieces, frames)

    def reset(self, sender: str) -> None:
        """Pass on to the oracle that a side ends its stream by a reset.

        Call this before the rest of the side's bytes and its end are judged.
        """
        if judge := getattr(self._oracle, "reset", None):
            judge(sender)

    def has_said_goodbye(self, sender: str) -> bool:
        """Return whether one side has said goodbye by the protocol's own rules."""
        judge = getattr(self._oracle, "has_said_goodbye", None)
        return judge is not None and bool(judge(sender))

    def take_rest(self, sender: str) -> list[Frame]:
        """Return the frames left in a side's decoder; judge them before the end.

        A truncated message is no violation if its reader has closed first.
        """
        self._ending.add(sender)
        return self._decoders[sender].end()

    def closed(self, index: int | None, sender: str) -> None:
        """Judge the end of one side's stream."""
        if self._oracle and self._only is None:
            with self._coverage.count_rows():
                self._add(index, sender, self._unless_lossy(self._oracle.closed(sender)))

    def resume(self, cut: bool) -> None:
        """Continue after a gap: from now on, each message is judged on its own.

        ``cut``: some of the omitted bytes belong to this connection. The next bytes can be the rest
        of a message, or of another protocol after an upgrade. Bytes that are not a message are then
        not judged.
        """
        if cut:
            self._cut = True
            for party in self._decoders:
                self._decoders[party] = self._protocol.decoder(party, self._transport)
        self._prompting.clear()
        self._oracle = None

    def _frame(self, sender: str, frame: Frame) -> Iterator[Finding]:
        if frame.name is None:
            if self._cut or (sender in self._ending and self._ending - {sender}):
                return
            requirement = frame.requirement or self._protocol.schema_requirement
            if self._oracle and self._oracle.broken(sender) and self._only is None:
                return
            self.spoiled = self.spoiled or sender in self._judged
            what = frame.error or "bytes that are not a message"
            yield Finding(requirement, what, earlier=frame.earlier)
            return
        if frame.error and sender in self._judged:
            requirement = frame.requirement or self._protocol.schema_requirement
            yield Finding(requirement, frame.error, earlier=frame.earlier)
        known = self._protocol.messages.get((sender, frame.name))
        if known is None:
            foreign = any(name == frame.name for _, name in self._protocol.messages)
            if self._oracle:
                found = list(self._oracle.unknown(sender, frame.name, frame.value, foreign))
                if foreign and found and sender in self._judged:
                    self.foreign = self.foreign or frame.name
                yield from self._unless_lossy(found)
            return
        if sender in self._judged:
            yield from self._schema(known, frame.value)
        if self._oracle:
            yield from self._unless_lossy(self._oracle.message(sender, frame.name, frame.value))

    def _unless_lossy(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the oracle's findings that count; nothing if messages can have been lost."""
        found = [each for each in findings if self._only is None or each.requirement in self._only]
        if not self.spoiled:
            yield from found

    def _schema(self, known: MessageType, value: Any) -> Iterator[Finding]:
        default = self._protocol.schema_requirement
        schema = self._protocol.schemas.schema(known.schema)
        wrong = self._wrong.setdefault(known, [])
        if len(wrong) < MAX_FINDINGS or not schema.is_wrong(value):
            errors, marks = schema.check(value)
            wrong += [errors] if errors else []
        else:
            # Explaining each error takes longer than the sender needs for the next message.
            errors, marks = wrong[-1], set()
        self._exercised[known.sender] |= marks | {default}
        # If the whole message follows another known convention, one finding reports that.
        dialect = getattr(self._protocol.oracle, "dialect", None)
        reading = errors and dialect and dialect(known.sender, known.name, value)
        if reading:
            yield Finding(errors[0].requirement or default, reading)
        else:
            for error in errors:
                yield Finding(error.requirement or default, error.message, path=error.place)

    def _add(self, index: int | None, sender: str, findings: Iterable[Finding]) -> None:
        # Consume all findings: the state of an oracle must not depend on who is judged.
        findings = list(findings)
        if self._oracle:
            # Only for the sender: a silent peer has exercised nothing, even if both are bound.
            if sender in self._exercised and self._only is None:
                self._exercised[sender] |= self._oracle.exercised
            self._oracle.exercised.clear()
        for finding in findings:
            found = self._found.get(sender)
            key = (finding.requirement, finding.message)
            if found is None or (key not in found and len(found) >= MAX_FINDINGS):
                continue
            found[key] += 1
            if found[key] == 1:
                event = self._known.get(sender, index) if finding.earlier else index
                self.found.append(replace(finding, event=event))
