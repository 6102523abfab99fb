"""Mocks in people's own tests: started on a free port, watched while they play, ended.

    with mock("simspark/server") as server:
        my_agent(server.host, server.port)
        assert server.findings == []

A mock plays in a thread of this process, or with `process=True` in a process of its own. Everything
that a peer sends it is judged as it passes. `async with` does the same.
"""

from typing import Any

from conformance.definitions import locate, protocols
from mocks.testing.base import Finding, Message, Mock, MockFailed
from mocks.testing.in_process import InProcess
from mocks.testing.in_thread import InThread

__all__ = ["Finding", "Message", "Mock", "MockFailed", "mock"]


def mock(role: str, *, process: bool = False, **options: Any) -> Mock:
    """A mock of a role such as `simspark/server`, to be used in `with` or `async with`.

    The options are those of `conformance mock ROLE --help`, with `_` for `-`: True for a flag, a
    list for one that is repeated. A role that serves listens at a free port of 127.0.0.1 unless
    `listen` or `connect` say otherwise. In a process of its own it needs a moment more, and nothing
    of it can disturb this one; values of messages are then what JSON can hold.
    """
    locate.extend_packages()
    known = protocols.role(role)
    asks = bool(options.get("upper_tester"))
    if known.transports == ("none",):
        # It has nothing but operations.
        asks = True
        options.pop("upper_tester", None)
    elif known.serves and not options.keys() & {"listen", "connect"}:
        options["listen"] = "127.0.0.1:0"
    words = []
    for name, value in options.items():
        word = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                words.append(word)
            elif each is not False and each is not None:
                words += [word, str(each)]
    return (InProcess if process else InThread)(role, words, asks)
