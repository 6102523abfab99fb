"""Faults of the agent in its messages: the first messages, effectors, lengths."""

from collections.abc import Callable

from mocks.deviations import Fault, Subtle, Table, fault
from mocks.simspark.agent import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.faults.writing import UTF_8, write_in_two
from mocks.simspark.reconnecting import comes_back
from mocks.steps import Change, Function, When, always, before, instead, note, returning, send, then

PLAYING = When(lambda agent: agent.game.get("pm") == ["PlayOn"])
GOAL = When(lambda agent: str(agent.game.get("pm", [""])[0]).startswith("Goal"))


def groups(holds: Callable[[int], bool]) -> When:
    """If the number of groups of perceptors that have come has a property."""
    return When(lambda agent: holds(agent.groups))


def effector(text: str, when: When) -> Change:
    """Send an effector after the nod."""
    return instead("occasional_effector", lambda _: text, when)


def encoded(change: Callable[[bytes], bytes], when: Function = always) -> Change:
    """Write what a function makes of a length and its text."""
    return returning("encode", change, when)


def _initialise(agent: Agent) -> None:
    agent.initialise()
    agent.create()


def _act(form: str) -> Change:
    """Send the nod in another form."""
    return instead("act", lambda agent: agent.send(form.format(agent.settings.hinge, agent.nod())))


def _count_itself(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data[4:]


class _Revenant(Agent):
    """An agent that connects again, and takes its robot for created."""

    def opened(self) -> None:
        self.initialised = True
        self.act()


FAULTS = Table(Agent)

FAULTS["agents.create-first"] = {
    "init-first": Fault("Sends init before scene.", instead("opened", _initialise)),
    "comes-back-without-a-robot": Subtle(
        "Connects again after a disconnect, and does not create its robot again.",
        then("run", comes_back(_Revenant)),
    ),
    "says-hello-first": Subtle(
        "Says something before it has created its robot.", before("opened", send("(say hello)"))
    ),
}

FAULTS["agents.init-second"] = {
    "no-init": Fault("Acts without an init.", instead("initialise", note("initialised"))),
    "acts-before-init": Subtle(
        "Moves its head once before its init.", before("initialise", send("(he1 0.5)"))
    ),
}

FAULTS["monitors.only-commands-of-trainers"] = {
    "trains": Fault(
        "Puts the ball in front of its feet with a trainer command.",
        effector("(ball (pos 0 0 0))", groups(lambda count: count % 10 == 5)),
    ),
    "starts-the-game": Subtle(
        "Requests the kick-off once, with a trainer command.",
        effector("(kickOff Left)", groups(lambda count: count == 7)),
    ),
    "starts-again-after-goals": Subtle(
        "Requests the kick-off after a goal, with a trainer command.",
        effector("(kickOff Left)", GOAL),
    ),
}

FAULTS["text.s-expressions"] = {
    "unclosed": Fault("Omits the last bracket of its effectors.", _act("({} {:.2f}")),
    "unclosed-words": Subtle(
        "Omits the bracket of the words that it says from time to time.",
        returning("occasional_effector", lambda text: text.replace("hello_", "(hello_")),
    ),
    "unclosed-in-play": Subtle(
        "Omits the last bracket of its effectors while the ball is in play.",
        effector("(lae1 1.0", PLAYING),
    ),
}

FAULTS["text.predicates"] = {
    "bare-effectors": Fault("Sends effectors without brackets.", _act("{} {:.2f}")),
    "pairs-of-effectors": Subtle(
        "Puts two effectors into an extra list.",
        effector("((he1 0)(he2 0))", groups(lambda count: count % 20 == 3)),
    ),
}

FAULTS["text.ascii"] = {
    "team-with-an-umlaut": Fault(
        "Has a team with a name that is not ASCII.",
        UTF_8,
        instead("initialise", note("initialised")),
        then("initialise", send("(init (unum 1)(teamname Köln))")),
    ),
    "says-accents": Subtle(
        "Says words that are not ASCII, from time to time.",
        UTF_8,
        returning("occasional_effector", lambda text: text.replace("hello", "allô")),
    ),
}

FAULTS["frame.length-prefix"] = {
    "length-counts-itself": Subtle(
        "Counts the length field itself in the length, from its fourth message on.",
        encoded(_count_itself, lambda _, text, connection: connection.sent > 2),
    ),
    "first-length-counts-itself": Subtle(
        "Counts the length field itself in its first length.",
        encoded(_count_itself, lambda _, text, connection: not connection.sent),
    ),
    "length-of-a-byte": Subtle(
        "Writes only the lowest byte of a length, after three zero bytes.",
        encoded(lambda data: bytes(3) + data[3:]),
    ),
    "lengths-apart": Subtle(
        "Writes other messages between the length and the text of requested effectors.",
        instead("act_as_asked", write_in_two),
    ),
    "lengths-of-two-bytes": Fault("Writes lengths of 16 bits.", encoded(lambda data: data[2:])),
    "writes-a-kilobyte": Subtle(
        "Writes at most 1024 bytes of a text, after the length of the whole text.",
        encoded(lambda data: data[: 4 + 1024]),
    ),
}


@fault("longest-earlier-length", violates="text.s-expressions", subtle=True)
class LongestEarlierLength(Agent):
    """Sends the whole buffer: a text, and the end of a longer, earlier text."""

    buffer = b""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)[4:]
        self.buffer = data + self.buffer[len(data) :]
        return len(self.buffer).to_bytes(4, "big") + self.buffer
