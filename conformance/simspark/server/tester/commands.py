"""Checks that a server executes commands: immediately, and in the order of arrival."""

from itertools import groupby

from conformance.simspark.codec import frame
from conformance.simspark.server.tester.monitors import Watch
from conformance.simspark.view import View
from conformance.verdicts import Violation

IN_ORDER = 40  # commands, every second one long; enough for several bursts
AT_ONCE = 8  # commands in one burst, without waiting for an effect
LONG_COMMAND = 300  # bytes; more than a counter of one byte can hold
SETTLING_STATES = 3  # states in which a command executed too late would show


async def check_execution_at_once(watch: Watch) -> None:
    """Raise Violation if a command has no effect.

    The violation is of monitors.commands if the next command brings the effect. A server can wait
    wrongly for further bytes after a complete message.
    """
    before = watch.view.value("score_left")
    try:
        await watch.settle()
    except Violation as none:
        await watch.command("(ball)")
        if await watch.is_still_false(
            lambda view: view.value("score_left") != before, watch.session.seconds("response")
        ):
            raise
        came, shown = "received it only after another command", watch.session.received[-1].event
        wrong = Violation(none.expected, came, "monitors.commands", shown)
        raise wrong.shown_in(watch.session) from none


async def check_order(watch: Watch) -> None:
    """Raise Violation if the server does not execute long and short commands in order."""
    about, shown = "frame.segmentation", list[float]()

    def scored(view: View) -> float:
        shown.append(view.value("score_right") or 0.0)
        return shown[-1]

    def list_scores(_: View) -> str:
        return f"score_right was {', '.join(f'{goals:g}' for goals, _ in groupby(shown))}"

    await watch.settle()
    for goals in range(1, IN_ORDER + 1):
        text = f"(score (left 1)(right {goals}))".ljust(goals % 2 * LONG_COMMAND)
        watch.waiting += 1
        await watch.session.send_bytes(frame(text.encode("ascii")))
        if goals % AT_ONCE == 0:
            await watch.wait_until(
                lambda view, last=goals: scored(view) == last,  # type: ignore[misc]
                f"show score_right {goals}, the last of {AT_ONCE} scores in one burst",
                within=watch.effect_deadline(),
                requirement=about,
                now=list_scores,
            )
    for _ in range(SETTLING_STATES):
        await watch.state()
        scored(watch.view)
    if shown != sorted(shown):
        raise Violation("the scores in the order of the commands", list_scores(watch.view), about)
