"""Faults of the monitor in its trainer commands."""

from mocks.deviations import Fault, Subtle, Table
from mocks.simspark.faults.writing import UTF_8, write_in_two
from mocks.simspark.monitor import Monitor
from mocks.steps import (
    Change,
    alter,
    differing,
    every,
    instead,
    note,
    noted,
    only,
    repeat,
    returning,
    skip,
    then,
)


def misspelt(old: str, new: str) -> Change:
    """Write another text in commands."""
    return alter("command", lambda _, text: text.replace(old, new))


FAULTS = Table(Monitor)

FAULTS["move-agent.unum-and-team"] = {
    "no-team": Fault(
        "Names no team when it moves an agent.",
        misspelt("(agent (unum 3)(team Right)", "(agent (unum 3)"),
    ),
    "small-teams": Subtle(
        "Writes the team of an agent in lower case.",
        misspelt("(agent (unum 3)(team Right)", "(agent (unum 3)(team right)"),
    ),
}

FAULTS["move-agent.not-bare"] = {
    "bare-agent": Subtle(
        "Sends the command agent without a name.",
        misspelt("(agent (unum 3)(team Right)(pos 1 -2.5 0.4)(battery 50))", "(agent)"),
    ),
}

FAULTS["move-agent.operations"] = {
    "flat-place": Subtle(
        "Writes a position without the height.", misspelt("(pos 1 -2.5 0.4)", "(pos 1 -2.5)")
    ),
}

FAULTS["ball.form"] = {
    "flat-ball": Subtle(
        "Writes a velocity with two numbers.", misspelt("(vel -1 0.5 0)", "(vel -1 0.5)")
    ),
    "ball-with-commas": Fault(
        "Writes commas between numbers.", misspelt("(pos 1 2 0.042)", "(pos 1, 2, 0.042)")
    ),
}

FAULTS["play-mode.known"] = {
    "modes-by-index": Fault(
        "Sets a play mode by its index.", misspelt("(playMode PlayOn)", "(playMode 3)")
    ),
    "small-modes": Subtle(
        "Writes a play mode with a wrong capital.", misspelt("free_kick_right", "free_kick_Right")
    ),
}

FAULTS["kick-off.team"] = {
    "kick-off-nobody": Subtle(
        "Writes none instead of None.", misspelt("(kickOff None)", "(kickOff none)")
    ),
}

FAULTS["select.form"] = {
    "selects-a-colour": Subtle(
        "Names a team by its colour in kill.",
        misspelt("(kill (unum 3)(team Left)", "(kill (unum 3)(team Blue)"),
    ),
}

FAULTS["time.form"] = {
    "time-with-unit": Subtle(
        "Writes a unit after the time.", misspelt("(time 12.5)", "(time 12.5s)")
    ),
}

FAULTS["score.form"] = {
    "score-of-one": Subtle("Writes the score of one team only.", misspelt("(right 2)", "")),
}

FAULTS["no-arguments.form"] = {
    "drops-there": Subtle(
        "Writes a position after dropBall.", misspelt("(dropBall)", "(dropBall 0 0)")
    ),
}

FAULTS["ack.appended"] = {
    "ack-alone": Subtle("Sends getAck without a command.", misspelt("(time 13)", "")),
    "two-cookies": Subtle(
        "Sends getAck with two words.",
        misspelt("(time 13)(getAck cookie)", "((time 13)(getAck two words))"),
    ),
}

FAULTS["trainer.known-commands"] = {
    "own-commands": Subtle(
        "Writes reposition instead of repos.", misspelt("(repos", "(reposition")
    ),
}

FAULTS["text.predicates"] = {
    "bare-words": Subtle(
        "Writes a command without brackets.", misspelt("(reqfullstate)", "reqfullstate")
    ),
}

FAULTS["text.s-expressions"] = {
    "empty-commands": Fault(
        "Sends an empty message instead of each requested command.",
        alter("command", lambda *_: ""),
    ),
    "unclosed": Subtle("Omits the last bracket of a score.", misspelt("(right 2))", "(right 2)")),
}

FAULTS["trainer.as-asked"] = {
    "score-turned": Subtle(
        "Swaps the scores of the two teams.",
        misspelt("(left 0)(right 12)", "(left 12)(right 0)"),
    ),
    "no-velocity": Subtle("Omits the velocity after a position.", misspelt("(vel 0 -1.25 2)", "")),
    "unsigned-fractions": Subtle(
        "Loses the sign of a number between -1 and 0.",
        alter("command", lambda _, text: text.replace("-0.", "0.")),
    ),
    "unsigned-turn": Subtle("Writes a rotation without its sign.", misspelt("0.5 -90)", "0.5 90)")),
    "commands-twice": Subtle("Sends each command twice.", repeat("command")),
    "same-command-once": Subtle(
        "Sends a command only if it differs from the last one.",
        only("command", differing(lambda _, text: text)),
    ),
    "appended-left-out": Subtle(
        "Sends only the first expression of a requested command.",
        alter("command", lambda _, text: text.partition("(getAck")[0]),
    ),
    "waits-for-ack": Subtle(
        "Sends no command after getAck until the server has answered.",
        then("command", note("waiting"), lambda _, text: "getAck" in text),
        skip("command", noted("waiting")),
    ),
    "every-second-command-lost": Subtle(
        "Drops every second requested command.", skip("command", every(2))
    ),
    "no-command-sent": Subtle(
        "Reports requested commands as sent without sending any.", skip("command")
    ),
    "none-left-out": Subtle(
        "Leaves out the team None in the commands for one agent.", misspelt("(team None)", "")
    ),
}

FAULTS["frame.length-prefix"] = {
    "one-byte-lengths": Subtle(
        "Writes only the lowest byte of a length.",
        returning("encode", lambda data: bytes(3) + data[3:]),
    ),
    "lengths-apart": Subtle(
        "Writes other messages between the length and the text of a requested command.",
        instead("command", write_in_two),
    ),
    "writes-a-kilobyte": Subtle(
        "Writes at most 1024 bytes of a command, after the length of the whole command.",
        returning("encode", lambda data: data[: 4 + 1024]),
    ),
}

FAULTS["text.ascii"] = {
    "typographic-minus": Subtle(
        "Writes a minus sign that is not ASCII.", UTF_8, misspelt("-", "\N{MINUS SIGN}")
    ),
}
