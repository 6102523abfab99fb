"""Runs operations repeatedly while another process uses the buffer."""

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conformance.connections import cancel_all
from conformance.harness.deadlines import in_time
from conformance.harness.upper_tester import Answer
from conformance.runtime.memory.buffer import Buffer
from conformance.runtime.memory.tester import Tester
from conformance.runtime.tester import operation_timeout
from conformance.verdicts import Inconclusive

ROUNDS = 1000
MANY_USES = 1100
"""Operations or messages of one kind: more than 1024, the usual limit of open files."""
_AT_ONCE = 50  # simultaneous operations
_SLOW = 0.25  # fraction of the timeout; a batch that takes longer is slow


async def run_often(
    tester: Tester,
    buffer: Buffer,
    operation: str,
    given: Iterable[Mapping[str, Any]],
    answered: list[Answer],
) -> None:
    """Run an operation with each of these arguments, and append the answers to ``answered``.

    Raises Inconclusive if the IUT stops answering. Stops early if a whole batch fails slowly,
    because the remaining operations would take minutes and fail too.
    """
    upper, configuration = tester.session.instance.upper, tester.iut.configuration
    # Fifty hook processes that start at the same time can all be slow.
    hook = operation in configuration.hooks
    patient = configuration.max_wait if hook else operation_timeout(tester.session)
    left = iter(given)
    while some := [*itertools.islice(left, _AT_ONCE)]:
        began, before = tester.session.now, len(answered)
        asked = [asyncio.create_task(upper(operation, **buffer.arguments, **more)) for more in some]
        try:
            answered += [
                await in_time(each, tester.session.countdown(patient))
                for each in asyncio.as_completed(asked)
            ]
        except TimeoutError:
            raise Inconclusive(
                f"the operation '{operation}' was not answered within {patient:g} s "
                "while another process wrote"
            ) from None
        finally:
            await cancel_all(asked)
        if not all(answer.ok for answer in answered[before:]):
            buffer.is_free()  # if the mutex is broken, this is the reason
        slow = tester.session.now - began > _SLOW * patient
        if slow and not any(answer.ok for answer in answered[before:]):
            return


def require_success(operation: str, answers: Sequence[Answer]) -> None:
    """Raise Inconclusive if all operations failed while another process wrote.

    An operation can fail instead of waiting for the mutex, and is then not judged.
    """
    if not any(answer.ok for answer in answers):
        why = answers[0].why
        raise Inconclusive(f"the operation '{operation}' failed while another process wrote: {why}")
