"""Measure RPC round trips per second of the mock server, against a bare MessagePack echo.

Both are separate processes on TCP. The same blocking client calls them alternately: one call at a
time, and then a hundred calls in one write. The bare echo only decodes and encodes every object
with the package msgpack.
"""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import msgpack

CALLS = 2000  # in each measurement
TOGETHER = 100  # calls in one write
ROUNDS = 5  # of which the median counts

MOCK = [sys.executable, "-m", "mocks", "runtime/rpc-server", "--listen", "127.0.0.1:0"]
BARE = [sys.executable, "-m", "conformance.benchmarks.runtime_calls", "echo"]


def main() -> None:
    ratios: dict[int, list[float]] = {1: [], TOGETHER: []}
    with listening(MOCK) as mock, listening(BARE) as bare:
        for _ in range(ROUNDS):
            for together, found in ratios.items():
                rates = [rate(port, together) for port in (mock, bare)]
                found.append(rates[0] / rates[1])
                print(f"{together:3} at once: mock {rates[0]:.0f}/s   bare {rates[1]:.0f}/s")
    for together, found in ratios.items():
        print(f"ratio {sorted(found)[ROUNDS // 2]:.2f}  {together} at once  (median of {ROUNDS})")


@contextlib.contextmanager
def listening(words: list[str]) -> Iterator[int]:
    """Start a server's process; yield the port that it prints."""
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            yield int(process.stderr.readline().rpartition(":")[2])
        finally:
            process.terminate()


def rate(port: int, together: int) -> float:
    """Return the calls per second of a server, with ``together`` calls at a time."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        unpacker = msgpack.Unpacker()
        began = time.perf_counter()
        for first in range(0, CALLS, together):
            numbers = range(first, first + together)
            requests = [msgpack.packb([0, number, "echo", ["text", 1]]) for number in numbers]
            connection.sendall(b"".join(requests))
            left = together
            while left:
                unpacker.feed(connection.recv(65536))
                left -= sum(1 for _ in unpacker)
        return CALLS / (time.perf_counter() - began)


def echo() -> None:
    """Serve one client after another; answer each request with its own arguments."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(f"listening on 127.0.0.1:{server.getsockname()[1]}", file=sys.stderr, flush=True)
        while True:
            client, _ = server.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                unpacker = msgpack.Unpacker()
                while data := client.recv(65536):
                    unpacker.feed(data)
                    answers = [msgpack.packb([1, number, None, a]) for _, number, _, a in unpacker]
                    client.sendall(b"".join(answers))


if __name__ == "__main__":
    echo() if sys.argv[1:] == ["echo"] else main()
