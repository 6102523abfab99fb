"""Describe simple deviations: what a peer leaves out, adds, changes, repeats or delays.

A mock does everything in methods, called steps here: it receives bytes, takes a message, handles
it, sends, writes and closes. `skip("touch")` is a change of a step: the peer does not handle Touch.
A change has a step, often a deed, and often a condition. Conditions are joined by `&`, `|` and `~`.

    then("compete", send("Ready"), RUNNING & first(2))

Conditions and deeds are functions of the peer and of the arguments of the step. Functions of your
own go where these words do not reach. A deviation that needs more is a class (`mocks.deviations`).

Deeds of a step that is a coroutine function can be coroutine functions too.
"""

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from inspect import isawaitable, iscoroutinefunction
from operator import attrgetter
from typing import Any

Function = Callable[..., Any]
"""A function of a peer and of the arguments of a step."""
Deed = Function | str
"""A function, or the name of another step, which is done without arguments."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a step: `play` is called in its place, with the usual step as first argument."""

    step: str
    play: Function

    def applied(self, base: type[Any]) -> type[Any]:
        """Return a subclass of a mock, or of a base of mocks, with this change."""

        def usual(peer: Any, *args: Any) -> Any:
            return getattr(super(changed, peer), self.step)(*args)

        def step(peer: Any, *args: Any) -> Any:
            return self.play(usual, peer, *args)

        async def awaited(peer: Any, *args: Any) -> Any:
            result = step(peer, *args)
            return await result if isawaitable(result) else result

        member = awaited if iscoroutinefunction(getattr(base, self.step)) else step
        changed = type(base.__name__, (base,), {self.step: member})
        return changed


def with_changes(base: type[Any], changes: Iterable[Change]) -> type[Any]:
    """Return a subclass with all changes.

    A later change of a step is made around the earlier ones.
    """
    return reduce(lambda peer, change: change.applied(peer), changes, base)


class When:
    """A condition; the second of two joined conditions is asked only if it decides."""

    def __init__(self, holds: Function) -> None:
        self._holds = holds

    def __call__(self, *args: Any) -> bool:
        return bool(self._holds(*args))

    def __and__(self, other: Function) -> "When":
        return When(lambda *args: self(*args) and other(*args))

    def __or__(self, other: Function) -> "When":
        return When(lambda *args: self(*args) or other(*args))

    def __invert__(self) -> "When":
        return When(lambda *args: not self(*args))


always = When(lambda *args: True)


# Changes


def skip(step: str, when: Function = always) -> Change:
    """Leave out the step."""
    return instead(step, lambda *args: None, when)


def only(step: str, when: Function) -> Change:
    """Leave out the step unless the condition holds."""
    return skip(step, ~When(when))


def instead(step: str, deed: Deed, when: Function = always) -> Change:
    """Do something else; the result of the deed is the result of the step."""
    done = _function(deed)
    return Change(step, lambda usual, *args: done(*args) if when(*args) else usual(*args))


def before(step: str, deed: Deed, when: Function = always) -> Change:
    """Do something more before the step."""
    done = _function(deed)

    def play(usual: Function, *args: Any) -> Any:
        begun = done(*args) if when(*args) else None
        return _followed(begun, lambda _: usual(*args))

    return Change(step, play)


def then(step: str, deed: Deed, when: Function = always) -> Change:
    """Do something more after the step, if the condition holds by then."""
    done = _function(deed)

    def play(usual: Function, *args: Any) -> Any:
        def more(result: Any) -> Any:
            return _followed(done(*args), lambda _: result) if when(*args) else result

        return _followed(usual(*args), more)

    return Change(step, play)


def repeat(step: str, when: Function = always) -> Change:
    """Do the step twice."""

    def play(usual: Function, *args: Any) -> Any:
        done = usual(*args) if when(*args) else None
        return _followed(done, lambda _: usual(*args))

    return Change(step, play)


def delay(step: str, seconds: float, when: Function = always) -> Change:
    """Do the step later."""

    def play(usual: Function, *args: Any) -> Any:
        return later(seconds, usual)(*args) if when(*args) else usual(*args)

    return Change(step, play)


def alter(step: str, change: Function, when: Function = always) -> Change:
    """Do the step with another argument.

    `change` returns the argument, or a tuple if there are several arguments.
    """

    def play(usual: Function, peer: Any, *args: Any) -> Any:
        if when(peer, *args):
            changed = change(peer, *args)
            args = changed if len(args) > 1 else (changed,)
        return usual(peer, *args)

    return Change(step, play)


def returning(step: str, change: Callable[[Any], Any], when: Function = always) -> Change:
    """Return what `change` makes of the result of the step."""

    def play(usual: Function, *args: Any) -> Any:
        return _followed(usual(*args), change) if when(*args) else usual(*args)

    return Change(step, play)


def _followed(result: Any, follow: Callable[[Any], Any]) -> Any:
    """Call a function with a result; wait for both if they are awaitable."""
    if not isawaitable(result):
        return follow(result)

    async def wait() -> Any:
        followed = follow(await result)
        return await followed if isawaitable(followed) else followed

    return wait()


# Conditions


def having(path: str) -> When:
    """While an attribute of the peer, such as `robot.motors`, is true."""
    return When(lambda peer, *args: attrgetter(path)(peer))


def noted(name: str) -> When:
    """After the deed `note` of the same name, if its condition held then."""
    return When(lambda peer, *args: getattr(peer, name, False))


def first(count: int) -> When:
    """The first times that the condition is asked in a session."""
    return _counted(lambda number: number <= count)


def after(count: int) -> When:
    """Every time but the first times that the condition is asked in a session."""
    return _counted(lambda number: number > count)


def nth(count: int) -> When:
    """Only one time, counted from 1 in a session."""
    return _counted(lambda number: number == count)


def every(count: int) -> When:
    """Each second, third or other time that the condition is asked in a session."""
    return _counted(lambda number: number % count == 0)


def _counted(chosen: Callable[[int], bool]) -> When:
    def holds(known: dict[str, int], *args: Any) -> bool:
        known["asked"] = known.get("asked", 0) + 1
        return chosen(known["asked"])

    return _remembering(holds)


def novel(key: Function) -> When:
    """If `key` returns a value that it has not returned before in a session."""

    def holds(known: dict[Any, None], *args: Any) -> bool:
        value, count = key(*args), len(known)
        known[value] = None
        return len(known) > count

    return _remembering(holds)


def differing(key: Function) -> When:
    """If `key` returns another value than the last time that the condition was asked."""

    def holds(known: dict[str, Any], *args: Any) -> bool:
        value = key(*args)
        differs = "latest" not in known or known["latest"] != value
        known["latest"] = value
        return differs

    return _remembering(holds)


def since(when: Function) -> When:
    """From the first time that another condition holds."""

    def holds(known: dict[str, bool], *args: Any) -> bool:
        known["begun"] = known.get("begun", False) or when(*args)
        return known["begun"]

    return _remembering(holds)


def _remembering(holds: Function) -> When:
    """A condition that also gets a dictionary, which it can change; each session has its own."""
    key = object()

    def asked(peer: Any, *args: Any) -> bool:
        known = vars(peer).setdefault("remembered", {}).setdefault(key, {})
        return bool(holds(known, peer, *args))

    return When(asked)


def from_connection(number: int) -> When:
    """In this connection of the process and all later ones, counted from 1."""
    return When(lambda peer, *args: peer.number >= number)


# Deeds


def send(message: Any) -> Function:
    return lambda peer, *args: peer.send(message)


def write(data: bytes) -> Function:
    return lambda peer, *args: peer.write(data)


def call(step: str, *given: Any) -> Function:
    """Do another step with these arguments."""
    return lambda peer, *args: getattr(peer, step)(*given)


def put(path: str, value: Any) -> Function:
    """Set an attribute of the peer, such as `robot.capacity`."""
    *way, name = path.split(".")
    return lambda peer, *args: setattr(reduce(getattr, way, peer), name, value)


def note(name: str, when: Function = always) -> Function:
    """Note under a name whether a condition holds now; `noted` asks for it."""
    return lambda peer, *args: setattr(peer, name, when(peer, *args))


def later(seconds: float, deed: Deed) -> Function:
    def play(*args: Any) -> None:
        # A command that only lists faults needs no event loop.
        import asyncio

        asyncio.get_running_loop().call_later(seconds, _function(deed), *args)

    return play


def wait(seconds: float) -> Function:
    """Wait; only for steps that are coroutine functions."""

    async def play(*args: Any) -> None:
        import asyncio

        await asyncio.sleep(seconds)

    return play


def _function(deed: Deed) -> Function:
    return call(deed) if isinstance(deed, str) else deed


async def look(peer: Any, address: str) -> None:
    """Open a connection and close it at once, to see whether somebody listens."""
    # A command that only lists faults needs no event loop.
    from mocks import streams

    await (await streams.connect(address)).closed()


def hang(peer: Any, *args: Any) -> None:
    """Read and write nothing more; the stream stays open."""
    peer.receive = peer.write = lambda data: None


async def wait_for_ever(*args: Any) -> None:
    """Never end a step that is a coroutine function."""
    # A command that only lists faults needs no event loop.
    import asyncio

    await asyncio.Event().wait()


def fail(error: type[BaseException], *given: Any) -> Function:
    """Raise an error of this type, made with these arguments."""

    def play(*args: Any) -> None:
        raise error(*given)

    return play


def die(*args: Any) -> None:
    """Kill the process, as an operating system kills a faulty program."""
    os.kill(os.getpid(), signal.SIGKILL)


def leave_file_open(*args: Any) -> None:
    """Open a file and never close it."""
    os.open("/dev/null", os.O_RDONLY)


def exit_process(*args: Any) -> None:
    """End the process with the exit status 0."""
    os._exit(0)
