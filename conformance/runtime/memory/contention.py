"""Operations that are run again and again while another process uses the buffer."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.connections import ended
from conformance.harness.deadlines import in_time
from conformance.harness.upper import Answer
from conformance.running.patience import SHARE
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import Tester
from conformance.runtime.tester import patience
from conformance.verdicts import Inconclusive

ROUNDS = 1000
_AT_ONCE = 50  # operations


async def often(
    tester: Tester,
    buffer: Buffer,
    operation: str,
    given: Iterable[Mapping[str, Any]],
    answered: list[Answer],
) -> None:
    """Have an operation run with each of these arguments, and take note of the answers.

    Raises Inconclusive where it ceases to answer. One that gives all of some up after a long while
    would take minutes for the others, and show no more.
    """
    upper, configuration = tester.session.instance.upper, tester.iut.configuration
    # Fifty programs that are started at once may all take long.
    hook = operation in configuration.hooks
    patient = configuration.max_wait if hook else patience(tester.session)
    left = iter(given)
    while some := [*itertools.islice(left, _AT_ONCE)]:
        began, before = tester.session.now, len(answered)
        asked = [asyncio.create_task(upper(operation, **buffer.arguments, **more)) for more in some]
        try:
            answered += [
                await in_time(each, tester.session.left(patient))
                for each in asyncio.as_completed(asked)
            ]
        except TimeoutError:
            raise Inconclusive(
                f"the operation '{operation}' was not answered any more within "
                f"{patient:g} s, while another process wrote"
            ) from None
        finally:
            await ended(asked)
        slow = tester.session.now - began > SHARE * patient
        if slow and not any(answer.ok for answer in answered[before:]):
            return


def some_succeed(operation: str, answers: Sequence[Answer]) -> None:
    """Raise Inconclusive where an operation has always failed while another process wrote.

    One may give up rather than wait for the mutex: then it is as if it had not been asked for.
    """
    if not any(answer.ok for answer in answers):
        why = answers[0].why
        raise Inconclusive(f"the operation '{operation}' failed while another process wrote: {why}")
