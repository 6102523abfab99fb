"""Faults of the monitor in its trainer commands."""

from mocks.deviations import fault
from mocks.simspark.connection import Connection
from mocks.simspark.faults.writing import Utf8
from mocks.simspark.monitor import Monitor


def _make_misspelling(
    name: str, requirement: str, summary: str, old: str, new: str, subtle: bool
) -> type:
    """Make a fault that replaces one text by another in its commands."""

    class Misspelt(Monitor):
        __doc__ = summary

        def command(self, text: str) -> None:
            super().command(text.replace(old, new))

    return fault(name, violates=requirement, subtle=subtle)(Misspelt)


@fault("empty-commands", violates="text.s-expressions")
class EmptyCommands(Monitor):
    """Sends an empty message instead of each requested command."""

    def command(self, text: str) -> None:
        super().command("")


NoTeam = _make_misspelling(
    *("no-team", "move-agent.unum-and-team", "Names no team when it moves an agent."),
    *("(agent (unum 3)(team Right)", "(agent (unum 3)"),
    subtle=False,
)
BareAgent = _make_misspelling(
    *("bare-agent", "move-agent.not-bare", "Sends the command agent without a name."),
    *("(agent (unum 3)(team Right)(pos 1 -2.5 0.4)(battery 50))", "(agent)"),
    subtle=True,
)
SmallTeams = _make_misspelling(
    *("small-teams", "move-agent.unum-and-team", "Writes the team of an agent in lower case."),
    *("(agent (unum 3)(team Right)", "(agent (unum 3)(team right)"),
    subtle=True,
)
FlatPlace = _make_misspelling(
    *("flat-place", "move-agent.operations", "Writes a position without the height."),
    *("(pos 1 -2.5 0.4)", "(pos 1 -2.5)"),
    subtle=True,
)
FlatBall = _make_misspelling(
    *("flat-ball", "ball.form", "Writes a velocity with two numbers."),
    *("(vel -1 0.5 0)", "(vel -1 0.5)"),
    subtle=True,
)
CommaBall = _make_misspelling(
    *("ball-with-commas", "ball.form", "Writes commas between numbers."),
    *("(pos 1 2 0.042)", "(pos 1, 2, 0.042)"),
    subtle=False,
)
ModesByIndex = _make_misspelling(
    *("modes-by-index", "play-mode.known", "Sets a play mode by its index."),
    *("(playMode PlayOn)", "(playMode 3)"),
    subtle=False,
)
SmallModes = _make_misspelling(
    *("small-modes", "play-mode.known", "Writes a play mode with a wrong capital."),
    *("free_kick_right", "free_kick_Right"),
    subtle=True,
)
KickOffNobody = _make_misspelling(
    *("kick-off-nobody", "kick-off.team", "Writes none instead of None."),
    *("(kickOff None)", "(kickOff none)"),
    subtle=True,
)
SelectsAColour = _make_misspelling(
    *("selects-a-colour", "select.form", "Names a team by its colour in kill."),
    *("(kill (unum 3)(team Left)", "(kill (unum 3)(team Blue)"),
    subtle=True,
)
TimeInText = _make_misspelling(
    *("time-with-unit", "time.form", "Writes a unit after the time."),
    *("(time 12.5)", "(time 12.5s)"),
    subtle=True,
)
ScoreOfOne = _make_misspelling(
    *("score-of-one", "score.form", "Writes the score of one team only."),
    *("(right 2)", ""),
    subtle=True,
)
DropsThere = _make_misspelling(
    *("drops-there", "no-arguments.form", "Writes a position after dropBall."),
    *("(dropBall)", "(dropBall 0 0)"),
    subtle=True,
)
AckAlone = _make_misspelling(
    *("ack-alone", "ack.appended", "Sends getAck without a command."),
    *("(time 13)", ""),
    subtle=True,
)
TwoCookies = _make_misspelling(
    *("two-cookies", "ack.appended", "Sends getAck with two words."),
    *("(time 13)(getAck cookie)", "((time 13)(getAck two words))"),
    subtle=True,
)
OwnCommands = _make_misspelling(
    *("own-commands", "trainer.known-commands", "Writes reposition instead of repos."),
    *("(repos", "(reposition"),
    subtle=True,
)
BareWords = _make_misspelling(
    *("bare-words", "text.predicates", "Writes a command without brackets."),
    *("(reqfullstate)", "reqfullstate"),
    subtle=True,
)
Unclosed = _make_misspelling(
    *("unclosed", "text.s-expressions", "Omits the last bracket of a score."),
    *("(right 2))", "(right 2)"),
    subtle=True,
)

ScoreTurned = _make_misspelling(
    *("score-turned", "trainer.as-asked", "Swaps the scores of the two teams."),
    *("(left 0)(right 12)", "(left 12)(right 0)"),
    subtle=True,
)
NoVelocity = _make_misspelling(
    *("no-velocity", "trainer.as-asked", "Omits the velocity after a position."),
    *("(vel 0 -1.25 2)", ""),
    subtle=True,
)
UnsignedTurn = _make_misspelling(
    *("unsigned-turn", "trainer.as-asked", "Writes a rotation without its sign."),
    *("0.5 -90)", "0.5 90)"),
    subtle=True,
)


@fault("commands-twice", violates="trainer.as-asked", subtle=True)
class CommandsTwice(Monitor):
    """Sends each command twice."""

    def command(self, text: str) -> None:
        super().command(text)
        super().command(text)


@fault("typographic-minus", violates="text.ascii", subtle=True)
class TypographicMinus(Utf8, Monitor):
    """Writes a minus sign that is not ASCII."""

    def command(self, text: str) -> None:
        super().command(text.replace("-", "\N{MINUS SIGN}"))


@fault("one-byte-lengths", violates="frame.length-prefix", subtle=True)
class OneByteLengths(Monitor):
    """Writes only the lowest byte of a length."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return bytes(3) + super().encode(text, connection)[3:]


@fault("every-second-command-lost", violates="text.s-expressions", subtle=True)
class EverySecondCommandLost(Monitor):
    """Drops every second requested command."""

    asked = 0

    def command(self, text: str) -> None:
        self.asked += 1
        if self.asked % 2:
            super().command(text)


@fault("writes-a-kilobyte", violates="frame.length-prefix", subtle=True)
class WritesAKilobyte(Monitor):
    """Writes at most 1024 bytes of a command, after the length of the whole command."""

    def encode(self, text: str, connection: Connection) -> bytes:
        return super().encode(text, connection)[: 4 + 1024]


@fault("none-left-out", violates="trainer.as-asked", subtle=True)
class NoneLeftOut(Monitor):
    """Leaves out the team None in the commands for one agent."""

    def command(self, text: str) -> None:
        super().command(text.replace("(team None)", ""))
