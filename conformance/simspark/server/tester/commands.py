"""Whether a server executes commands at all: each as it comes, in the order in which they do."""

from itertools import groupby

from conformance.simspark.codec import frame
from conformance.simspark.server.tester.monitors import Watch
from conformance.simspark.view import View
from conformance.verdicts import Violation

IN_ORDER = 40  # commands, of which every second one is long
AT_ONCE = 8  # of them follow one another at once
LONG = 300  # bytes
A_FEW = 3  # states in which a command shows that was executed too late


async def executes_at_once(watch: Watch) -> None:
    """Raise Violation where a command has no effect, of monitors.commands where the next one helps.

    A server may wait for something behind a message that it has in full.
    """
    before = watch.view.value("score_left")
    try:
        await watch.settle()
    except Violation as none:
        await watch.command("(ball)")
        if await watch.never(
            lambda view: view.value("score_left") != before, watch.session.seconds("response")
        ):
            raise
        came, shown = "it does once another command has come", watch.session.received[-1].event
        raise Violation(none.expected, came, "monitors.commands", shown) from none


async def in_order(watch: Watch) -> None:
    """Raise Violation where commands, long and short by turns, are not executed as they come."""
    about, shown = "frame.segmentation", list[float]()

    def scored(view: View) -> float:
        shown.append(view.value("score_right") or 0.0)
        return shown[-1]

    def told(_: View) -> str:
        return f"there were {', '.join(f'{goals:g}' for goals, _ in groupby(shown))}"

    await watch.settle()
    for goals in range(1, IN_ORDER + 1):
        text = f"(score (left 1)(right {goals}))".ljust(goals % 2 * LONG)
        watch.waiting += 1
        await watch.session.send_bytes(frame(text.encode("ascii")))
        if goals % AT_ONCE == 0:
            await watch.until(
                lambda view, last=goals: scored(view) == last,  # type: ignore[misc]
                f"show {goals} goals, the last of {AT_ONCE} scores that were set at once",
                within=watch.patience(),
                requirement=about,
                now=told,
            )
    for _ in range(A_FEW):
        await watch.state()
        scored(watch.view)
    if shown != sorted(shown):
        raise Violation("goals in the order in which they were set", told(watch.view), about)
