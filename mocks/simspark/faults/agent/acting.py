"""Faults of the agent in its messages: the first messages, effectors, lengths."""

from mocks.deviations import fault
from mocks.simspark.agent import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.faults.writing import Utf8


@fault("init-first", violates="agents.create-first")
class InitFirst(Agent):
    """Sends init before scene."""

    def opened(self) -> None:
        self.initialise()
        self.create()


@fault("says-hello-first", violates="agents.create-first", subtle=True)
class SaysHelloFirst(Agent):
    """Says something before it has created its robot."""

    def opened(self) -> None:
        self.send("(say hello)")
        super().opened()


@fault("no-init", violates="agents.init-second")
class NoInit(Agent):
    """Acts without an init."""

    def initialise(self) -> None:
        self.initialised = True


@fault("acts-before-init", violates="agents.init-second", subtle=True)
class ActsBeforeInit(Agent):
    """Moves its head once before its init."""

    def initialise(self) -> None:
        self.send("(he1 0.5)")
        super().initialise()


@fault("trains", violates="monitors.only-commands-of-trainers")
class Trains(Agent):
    """Puts the ball in front of its feet with a trainer command."""

    def occasional_effector(self) -> str:
        return "(ball (pos 0 0 0))" if self.groups % 10 == 5 else super().occasional_effector()


@fault("starts-the-game", violates="monitors.only-commands-of-trainers", subtle=True)
class StartsTheGame(Agent):
    """Requests the kick-off once, with a trainer command."""

    def occasional_effector(self) -> str:
        return "(kickOff Left)" if self.groups == 7 else super().occasional_effector()


@fault("starts-again-after-goals", violates="monitors.only-commands-of-trainers", subtle=True)
class StartsAgainAfterGoals(Agent):
    """Requests the kick-off after a goal, with a trainer command."""

    def occasional_effector(self) -> str:
        scored = str(self.game.get("pm", [""])[0]).startswith("Goal")
        return "(kickOff Left)" if scored else super().occasional_effector()


@fault("unclosed", violates="text.s-expressions")
class Unclosed(Agent):
    """Omits the last bracket of its effectors."""

    def act(self) -> None:
        self.send(f"({self.settings.hinge} {self.nod():.2f}")


@fault("unclosed-words", violates="text.s-expressions", subtle=True)
class UnclosedWords(Agent):
    """Omits the bracket of the words that it says from time to time."""

    def occasional_effector(self) -> str:
        return super().occasional_effector().replace("hello_", "(hello_")


@fault("unclosed-in-play", violates="text.s-expressions", subtle=True)
class UnclosedInPlay(Agent):
    """Omits the last bracket of its effectors while the ball is in play."""

    def occasional_effector(self) -> str:
        playing = self.game.get("pm") == ["PlayOn"]
        return "(lae1 1.0" if playing else super().occasional_effector()


@fault("team-with-an-umlaut", violates="text.ascii")
class TeamWithAnUmlaut(Utf8, Agent):
    """Has a team with a name that is not ASCII."""

    def initialise(self) -> None:
        self.initialised = True
        self.send("(init (unum 1)(teamname Köln))")


@fault("says-accents", violates="text.ascii", subtle=True)
class SaysAccents(TeamWithAnUmlaut):
    """Says words that are not ASCII, from time to time."""

    def initialise(self) -> None:
        Agent.initialise(self)

    def occasional_effector(self) -> str:
        return super().occasional_effector().replace("hello", "allô")


@fault("bare-effectors", violates="text.predicates")
class BareEffectors(Agent):
    """Sends effectors without brackets."""

    def act(self) -> None:
        self.send(f"{self.settings.hinge} {self.nod():.2f}")


@fault("pairs-of-effectors", violates="text.predicates", subtle=True)
class PairsOfEffectors(Agent):
    """Puts two effectors into an extra list."""

    def occasional_effector(self) -> str:
        return "((he1 0)(he2 0))" if self.groups % 20 == 3 else super().occasional_effector()


@fault("length-counts-itself", violates="frame.length-prefix", subtle=True)
class LengthCountsItself(Agent):
    """Counts the length field itself in the length, from its fourth message on."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        length = len(data) if connection.sent > 2 else len(data) - 4
        return length.to_bytes(4, "big") + data[4:]


@fault("first-length-counts-itself", violates="frame.length-prefix", subtle=True)
class FirstLengthCountsItself(Agent):
    """Counts the length field itself in its first length."""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)
        return data if connection.sent else len(data).to_bytes(4, "big") + data[4:]


@fault("length-of-a-byte", violates="frame.length-prefix", subtle=True)
class LengthOfAByte(Agent):
    """Writes only the lowest byte of a length, after three zero bytes."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return bytes(3) + super().encode(text, connection)[3:]


@fault("lengths-of-two-bytes", violates="frame.length-prefix")
class LengthsOfTwoBytes(Agent):
    """Writes lengths of 16 bits."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return super().encode(text, connection)[2:]


@fault("writes-a-kilobyte", violates="frame.length-prefix", subtle=True)
class WritesAKilobyte(Agent):
    """Writes at most 1024 bytes of a text, after the length of the whole text."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return super().encode(text, connection)[: 4 + 1024]


@fault("longest-earlier-length", violates="text.s-expressions", subtle=True)
class LongestEarlierLength(Agent):
    """Sends the whole buffer: a text, and the end of a longer, earlier text."""

    buffer = b""

    def encode(self, text: str, connection: Connection) -> bytes:
        data = super().encode(text, connection)[4:]
        self.buffer = data + self.buffer[len(data) :]
        return len(self.buffer).to_bytes(4, "big") + self.buffer
