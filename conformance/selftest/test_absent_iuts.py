"""IUTs that never take part, or stop early; untried requirements are never green."""

import socket
import subprocess

import pytest

from conformance.selftest.driving import ONE_TEST, SIMULATOR, TIMINGS, Place
from conformance.selftest.ugly import ERROR_TEXT, assert_clean, run_test, verdicts


@pytest.mark.parametrize(
    ("ending", "how"),
    [("sys.exit(1)", "exited with code 1"), ("os.kill(os.getpid(), 11)", "was killed by SIGSEGV")],
)
def test_ends_at_once(place: Place, ending: str, how: str) -> None:
    done = run_test(place, f"print({ERROR_TEXT!r}, file=sys.stderr, flush=True)\n{ending}")
    assert done.code == 3
    assert done.report["verdict"] == "inconclusive"
    assert how in done.smoke["detail"]
    assert ERROR_TEXT in done.smoke["detail"]
    assert ERROR_TEXT in done.out
    assert not verdicts(done)


def test_server_that_ends_at_once(place: Place) -> None:
    iut = place.simulator(f"print({ERROR_TEXT!r}, file=sys.stderr); sys.exit(5)")
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=[*iut, "{port}"])
    assert_clean(done)
    assert done.code == 3
    assert "exited with code 5" in done.smoke["detail"]
    assert ERROR_TEXT in done.smoke["detail"]


def test_server_that_never_listens(place: Place) -> None:
    iut = place.simulator("time.sleep(1000)")
    done = place.run(SIMULATOR, "--timing", "startup=0.5", iut=[*iut, "{port}"])
    assert_clean(done)
    assert done.code == 3
    assert "did not accept" in done.smoke["detail"]
    assert "--timing startup=SECONDS" in done.smoke["detail"]


def test_goes_into_the_background(place: Place) -> None:
    """A command that exits while its server runs is not followed."""
    server = place.simulator("time.sleep(1000)")
    iut = place.program(f"import subprocess\nsubprocess.Popen({server!r})\n", "start.py")
    done = place.run(SIMULATOR, *TIMINGS, iut=[*iut, "{port}"])
    assert_clean(done)
    assert done.code == 3
    assert "code 0; a process that it has started still runs" in done.smoke["detail"]


ONE_CLIENT = """
import socket, sys, msgpack
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as listening:
    link, _ = listening.accept()
    unpacker = msgpack.Unpacker()
    while data := link.recv(4096):
        unpacker.feed(data)
        for asked in unpacker:
            link.sendall(msgpack.packb([1, asked[1], None, asked[-1]]))
"""


def test_exits_after_its_first_client(place: Place) -> None:
    """The server never sees the next client, although the system accepts the connection."""
    iut = [*place.program(ONE_CLIENT), "{port}"]
    done = place.run("runtime/rpc-server", "--test", "responses::later_connections", iut=iut)
    assert_clean(done)
    assert done.verdict("rpc.each-answered") == "inconclusive"


def test_nobody_listens(place: Place) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
        done = place.run(SIMULATOR, *TIMINGS, "--connect", address)
    assert_clean(done)
    assert done.code == 3
    assert f"nothing accepts at {address}: Connection refused" in done.out


@pytest.mark.parametrize(("family", "host"), [("AF_INET6", "::1"), ("AF_INET", "127.0.0.2")])
def test_listens_elsewhere(family: str, host: str, place: Place) -> None:
    """A server at another address, or of another address family, gets a clear message."""
    iut = place.program(
        "import socket, sys, time\n"
        f"server = socket.create_server(({host!r}, int(sys.argv[1])), family=socket.{family})\n"
        "time.sleep(60)\n"
    )
    done = place.run(SIMULATOR, "--timing", "startup=1.5", iut=[*iut, "{port}"])
    assert_clean(done)
    assert done.code == 3
    shown = f"[{host}]" if ":" in host else host
    port = done.smoke["detail"].partition("127.0.0.1:")[2].partition(" ")[0]
    assert f"it listens at {shown}:{port}" in done.smoke["detail"]


# Enough for the smoke session, a probe of the next connection, and two tests.
FOUR_SESSIONS = """
import socket
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
for left in (3, 2, 1, 0):
    connection, _ = server.accept()
    if not left:
        server.close()
    if not os.fork():
        os.dup2(connection.fileno(), 0)
        os.dup2(connection.fileno(), 1)
        serve()
        os._exit(0)
    connection.close()
    os.wait()
"""


def test_one_that_is_gone_in_the_middle(place: Place) -> None:
    """An IUT that others have started exits during the run; untried tests are inconclusive."""
    words = place.simulator(FOUR_SESSIONS)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout
        address = f"127.0.0.1:{int(serving.stdout.readline())}"
        done = place.run(SIMULATOR, *TIMINGS, "-k", "test_answered", "--connect", address)
    assert_clean(done)
    assert (done.code, done.verdict("handshake.answered")) == (3, "inconclusive")
    assert "the IUT was gone after handshake::answered" in done.out
    assert sorted(verdicts(done).values()) == ["inconclusive", "pass", "pass"]
