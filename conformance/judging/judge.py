"""Judges a session as it passes: bytes > frame > message > schema check > oracle > findings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from typing import Protocol as Interface

from conformance.codec import Decoder, Frame, Prompting
from conformance.definitions.protocol import MessageType, Protocol
from conformance.definitions.schemas import SchemaError

MOST = 100  # findings kept of one role in a session; a peer that breaks every message needs no more


@dataclass(frozen=True, slots=True)
class Finding:
    """A requirement that a session violates, how, and by which event of its transcript.

    ``path`` leads to the member of the decoded message that is wrong, where it is known.
    ``inconclusive``: something due had not come when the session ended, and may just have been
    late; that violates nothing. ``earlier``: it is about the latest known message of its sender, or
    else its first one, which only what comes behind that shows to be wrong.
    """

    requirement: str
    message: str
    event: int | None = None
    path: tuple[str | int, ...] = ()
    inconclusive: bool = False
    earlier: bool = False


class Oracle(Interface):
    """The passive judge of one protocol: which message or event may follow which.

    It sees both sides and does not know which of them is under test. Each call returns what the
    event violates, and adds to ``exercised`` the requirements that it really put its sender to the
    test of; its judge takes them from there.

    It may have a method ``reset`` that takes a sender: one that ends the stream now, by a reset, so
    that it may not have read what was sent to it last, nor all have come that it has sent itself.
    And a method ``parted``: whether a sender has taken leave, and dies of nothing that follows.

    Where several connections are one conversation, the module has a class ``Conversation`` besides:
    each instance of an IUT has one, and ``Oracle`` takes it as its only argument, or none. Its own
    argument says whether the IUT has been running before.
    """

    exercised: set[str]

    def message(self, sender: str, name: str, value: Any) -> Iterable[Finding]:
        """A well-framed message that fits its schema or not."""
        ...

    def unknown(self, sender: str, name: str, value: Any, foreign: bool) -> Iterable[Finding]:
        """A well-framed message that the protocol lists for another role (foreign) or for none."""
        ...

    def broken(self, sender: str) -> bool | None:
        """Bytes that are not a message; the codec has said what they violate.

        True where they violate nothing, because they answer what is not a message either.
        """
        ...

    def closed(self, sender: str) -> Iterable[Finding]:
        """One side has ended the stream."""
        ...


class Judge:
    """Applies codec, schemas and oracle to one session.

    ``judged`` are the roles whose deviations count; what the others do only moves the oracle.
    A ``fragment`` is not a session but a list of messages: schemas apply, the oracle does not.
    ``transport`` is what it goes over, where that is not the first transport of its roles.
    ``conversation`` is what its oracle shares with the oracles of other sessions of the same IUT.
    """

    def __init__(
        self,
        protocol: Protocol,
        judged: Iterable[str],
        fragment: bool = False,
        transport: str = "",
        conversation: Any = None,
    ) -> None:
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
        self._oracle: Oracle | None = None if fragment else protocol.oracle.Oracle(*shared)
        self._exercised: dict[str, set[str]] = {role: set() for role in self._judged}
        self._wrong: dict[MessageType, list[list[SchemaError]]] = {}
        """By kind of message, what is wrong with each of the first ones that do not fit."""
        self._known: dict[str, int | None] = {}
        """By sender, the event of its latest message that the protocol knows; else of its first."""
        self._ending: set[str] = set()
        """Those whose stream has ended."""
        self._cut = False
        self._found: dict[str, Counter[tuple[str, str]]] = {r: Counter() for r in self._judged}
        self.found: list[Finding] = []
        """All findings, also those that are inconclusive."""
        self.spoiled = False
        """Bytes came that are not a message: whatever else is found may only follow from that."""
        self.foreign = ""
        """A message that came although only the other role may send it, if one did."""

    @property
    def findings(self) -> list[Finding]:
        """What this session has violated so far."""
        return [finding for finding in self.found if not finding.inconclusive]

    @property
    def exercised(self) -> set[str]:
        """The requirements that this session has put to the test so far."""
        return set().union(*(self.exercised_by(role) for role in self._judged))

    def exercised_by(self, role: str) -> set[str]:
        """Those of them that one judged role was put to the test of."""
        return self._exercised[role]

    def times(self, role: str) -> Mapping[tuple[str, str], int]:
        """How often a role was found to violate what, by requirement and message."""
        return self._found[role]

    def decode(self, sender: str, data: bytes) -> list[Frame]:
        """Cut the next bytes of one side into frames."""
        self._ending.discard(sender)
        return self._decoders[sender].feed(data)

    def lost(self, sender: str) -> bool:
        """Whether no message of one side can be read any more, whatever it sends."""
        return bool(getattr(self._decoders[sender], "lost", ""))

    def prompt(self, sender: str) -> bytes:
        """The bytes that one side waits for inside a message, for its peer to send; mostly none."""
        return self._prompting[sender].prompt() if sender in self._prompting else b""

    def frame(self, index: int | None, sender: str, frame: Frame) -> None:
        """Judge one frame, which is event ``index`` of the transcript."""
        if (sender, frame.name) in self._protocol.messages:
            self._known[sender] = index
        self._known.setdefault(sender, index)
        self._add(index, sender, self._frame(sender, frame))

    def reset(self, sender: str) -> None:
        """One side ends its stream by a reset; judge what it still holds, and its end, after it."""
        if told := getattr(self._oracle, "reset", None):
            told(sender)

    def parted(self, sender: str) -> bool:
        """Whether one side has taken leave, as the protocol has it."""
        told = getattr(self._oracle, "parted", None)
        return told is not None and bool(told(sender))

    def rest(self, sender: str) -> list[Frame]:
        """What one side's decoder still holds when its stream ends; judge it before the end.

        Nobody is blamed for a message that breaks off where its reader has gone before.
        """
        self._ending.add(sender)
        return self._decoders[sender].end()

    def closed(self, index: int | None, sender: str) -> None:
        """Judge the end of one side's stream."""
        if self._oracle:
            self._add(index, sender, self._in_order(self._oracle.closed(sender)))

    def resume(self, cut: bool) -> None:
        """What came up to here is not known: from now on messages are judged by themselves.

        ``cut``: some of it was of this connection, so that bytes may be the end of a message, or
        of another protocol since an upgrade: those that are not a message are not judged.
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
            if self._oracle and self._oracle.broken(sender):
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
                yield from self._in_order(found)
            return
        if sender in self._judged:
            yield from self._schema(known, frame.value)
        if self._oracle:
            yield from self._in_order(self._oracle.message(sender, frame.name, frame.value))

    def _in_order(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """What the oracle finds; nothing where messages may have been lost."""
        found = list(findings)
        if not self.spoiled:
            yield from found

    def _schema(self, known: MessageType, value: Any) -> Iterator[Finding]:
        default = self._protocol.schema_requirement
        schema = self._protocol.schemas.schema(known.schema)
        wrong = self._wrong.setdefault(known, [])
        if len(wrong) < MOST or not schema.is_wrong(value):
            errors, marks = schema.check(value)
            wrong += [errors] if errors else []
        else:
            # To explain each would take longer than who sends them needs for the next.
            errors, marks = wrong[-1], set()
        self._exercised[known.sender] |= marks | {default}
        # Where the whole message is known to follow another convention, one finding says so.
        dialect = getattr(self._protocol.oracle, "dialect", None)
        reading = errors and dialect and dialect(known.sender, known.name, value)
        if reading:
            yield Finding(errors[0].requirement or default, reading)
        else:
            for error in errors:
                yield Finding(error.requirement or default, error.message, path=error.path)

    def _add(self, index: int | None, sender: str, findings: Iterable[Finding]) -> None:
        # Always run to the end: the state of an oracle must not depend on who is judged.
        findings = list(findings)
        if self._oracle:
            # Of the sender alone: a silent peer has shown nothing of what binds both.
            if sender in self._exercised:
                self._exercised[sender] |= self._oracle.exercised
            self._oracle.exercised.clear()
        for finding in findings:
            found = self._found.get(sender)
            key = (finding.requirement, finding.message)
            if found is None or (key not in found and len(found) >= MOST):
                continue
            found[key] += 1
            if found[key] == 1:
                event = self._known.get(sender, index) if finding.earlier else index
                self.found.append(replace(finding, event=event))
