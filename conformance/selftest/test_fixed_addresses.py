"""An IUT with a fixed address runs one test at a time."""

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from conformance.deltarobot.codec import Decoder, encode
from conformance.deltarobot.messages import HANDSHAKE, pong
from conformance.harness.links import free_port
from conformance.selftest.driving import Place
from mocks.testing import mock

MOCK = [sys.executable, "-m", "mocks"]
REBIND_DELAY = 0.1  # seconds in which a server notices that its last client has disconnected


@pytest.mark.parametrize(
    ("role", "listens", "requirement"),
    [("vexide/simulator", True, "ready.once"), ("deltarobot/client", False, "pong.each")],
)
def test_one_after_another(role: str, listens: bool, requirement: str, place: Place) -> None:
    address = f"127.0.0.1:{free_port()}"
    ours, its = ("--connect", "--listen") if listens else ("--listen", "--connect")
    iut = [*MOCK, role, its, address]
    done = place.run(role, ours, address, "--requirement", requirement, "--examples", "2", iut=iut)
    assert (done.code, done.verdict(requirement)) == (0, "pass"), done.out + done.err
    assert done.left == []


def test_somebody_else_has_the_address(place: Place) -> None:
    """A program that already listens at the address is not tested."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        iut = [*MOCK, "vexide/simulator", "--listen", address]
        words = ("vexide/simulator", "--connect", address, "--requirement", "ready.once")
        done = place.run(*words, iut=iut)
    assert done.code == 3
    assert "is already in use" in done.out


def test_an_address_that_is_given_back_late(place: Place) -> None:
    """The suite waits while an earlier program still has the address."""
    other = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{other.getsockname()[1]}"
    threading.Timer(1.0, other.close).start()
    iut = [*MOCK, "vexide/simulator", "--listen", address]
    words = ("vexide/simulator", "--connect", address, "--requirement", "ready.once")
    done = place.run(*words, iut=iut)
    assert (done.code, done.verdict("ready.once")) == (0, "pass"), done.out + done.err


def test_several_at_a_time_cannot_be(place: Place) -> None:
    words = ("vexide/simulator", "--connect", "127.0.0.1:9", "-n", "4")
    done = place.run(*words, iut=[*MOCK, "vexide/simulator"])
    assert (done.code, done.err.count("has a fixed address")) == (2, 1)


def test_a_client_that_the_user_has_started(place: Place) -> None:
    """A test that needs two clients at a time is not exercised."""
    address = f"127.0.0.1:{free_port()}"
    over = threading.Event()
    playing = threading.Thread(target=_play_client, args=(address, over))
    playing.start()
    tests = ("pongs::pings_of_a_long_session", "pongs::pings_during_an_exercise")
    words = [word for test in tests for word in ("--test", test)]
    done = place.run("deltarobot/client", "--listen", address, *words)
    over.set()
    playing.join()
    assert {*done.tests.values()} == {"not-exercised", "pass"}, done.out


def _play_client(address: str, over: threading.Event) -> None:
    """Connect to a server again and again, and answer its pings."""
    host, _, port = address.rpartition(":")
    while not over.is_set():
        with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as link:
            link.sendall(b"".join(map(encode, HANDSHAKE)))
            decoder = Decoder()
            while data := link.recv(4096):
                for frame in decoder.feed(data):
                    if frame.name == "Ping":
                        link.sendall(encode(pong(frame.value["number"])))
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("role", "requirement"),
    [
        ("deltarobot/server", "end.abrupt"),
        ("runtime/rpc-server", "rpc.each-answered"),
        ("vexide/simulator", "ready.once"),
    ],
)
def test_busy_for_a_moment(role: str, requirement: str, place: Place) -> None:
    """A server that refuses a second client for a moment is tried again."""
    # Some tests cut messages, so the server need not judge its peer.
    serving = mock(role, process=True, judge=False)
    with serving as server, doorkeeper(server.address) as (address, turned_away):
        done = place.run(role, "--connect", address, "--requirement", requirement)
    assert turned_away
    assert (done.code, done.verdict(requirement)) == (0, "pass"), done.out + done.err
    assert "warn" not in done.tests.values()


@contextlib.contextmanager
def doorkeeper(server: str) -> Iterator[tuple[str, list[str]]]:
    """Relay to a server; yield the address, and a list of refused clients."""
    free, turned_away = threading.Event(), []
    free.set()
    host, _, port = server.rpartition(":")

    def serve(client: socket.socket) -> None:
        with client, socket.create_connection((host, int(port))) as behind:
            back = threading.Thread(target=_pass_on, args=(behind, client))
            back.start()
            _pass_on(client, behind)
            back.join()
        threading.Timer(REBIND_DELAY, free.set).start()

    def keep(door: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, whence = door.accept()
                if free.is_set():
                    free.clear()
                    threading.Thread(target=serve, args=(client,)).start()
                else:
                    turned_away.append(str(whence))
                    client.close()

    with socket.create_server(("127.0.0.1", 0)) as door:
        keeping = threading.Thread(target=keep, args=(door,))
        keeping.start()
        yield f"127.0.0.1:{door.getsockname()[1]}", turned_away
        door.shutdown(socket.SHUT_RDWR)
        keeping.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Forward all bytes of one side until a side closes its connection."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
