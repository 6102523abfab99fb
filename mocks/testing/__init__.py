"""Mocks in a project's own tests: started on a free port, observed, and ended.

    with mock("simspark/server") as server:
        my_agent(server.host, server.port)
        assert server.findings == []

A test that leaves findings unread fails at its end, unless it gives `judge=False`. A mock plays in
a thread of this process, or with `process=True` in a separate process. All messages of its peers
are judged while they arrive. `async with` works as well.
"""

from typing import Any

from conformance.definitions import locations, protocols
from mocks.testing.base import Finding, Message, Mock, MockFailed
from mocks.testing.in_process import InProcess
from mocks.testing.in_thread import InThread

__all__ = ["Finding", "Message", "Mock", "MockFailed", "mock"]


def mock(role: str, *, process: bool = False, judge: bool = True, **options: Any) -> Mock:
    """Return a mock of a role such as `simspark/server`, for `with` or `async with`.

    The options are those of `conformance mock ROLE --help`, with `_` in place of `-`: True for a
    flag, a list for a repeated option. A server listens at a free port of 127.0.0.1 unless `listen`
    or `connect` is given. In a separate process the mock starts more slowly and cannot disturb this
    process. The values of received messages are then limited to JSON. With `judge=False` the test
    does not fail for findings that it leaves unread.
    """
    locations.extend_packages()
    known = protocols.role(role)
    asks = bool(options.get("upper_tester"))
    if known.transports == ("none",):
        # A role without a wire has only operations.
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
    return (InProcess if process else InThread)(role, words, asks, judge)
