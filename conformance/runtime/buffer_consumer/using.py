"""What the test cases of a consumer do with buffers."""

from typing import Any

from conformance.harness.upper import Answer
from conformance.runtime.memory.bench import Bench, Buffer, same
from conformance.verdicts import Inconclusive, Violation


async def set_value(buffer: Buffer, name: str, value: Any) -> Answer:
    """Have a value written. Raises Violation where that fails."""
    return await buffer.bench.tested("set_value", **buffer.arguments, param=name, value=value)


async def reads(buffer: Buffer, name: str, value: Any) -> None:
    """Raise Violation unless get_value answers this value."""
    answer = await buffer.bench.tested("get_value", **buffer.arguments, param=name)
    if not same(value, answer.result, buffer.peripheral[name].kind):
        place = buffer.place(f"read.params.{name}")
        raise Violation(
            f"get_value of {name} to answer {value!r}, which is in {place}",
            f"it answered {str(answer.result)[:200]}",
        )


async def listed(on: Bench) -> list[str]:
    """The names that `list` answers."""
    answer = await on.tested("list")
    names = answer.result
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Inconclusive(f"'list' is to answer names of buffers: {str(names)[:200]}")
    return [name.removeprefix("/dev/shm/").removeprefix("/") for name in names]
