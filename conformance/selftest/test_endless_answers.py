"""An answer that never ends is one failure; nothing passes because of this answer."""

from conformance.selftest.driving import Place

LAB = """
import socket, sys, threading

HEAD = b"HTTP/1.1 200 OK\\r\\nContent-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n"

def serve(connection):
    data = b""
    while not (b"}" in data or data.startswith(b"GET") and b"\\r\\n\\r\\n" in data):
        data += (more := connection.recv(65536))
        if not more:
            return
    if HOLDS and b'"token"' in data:
        connection.recv(1)  # holds the registration until the robot disconnects
        return
    connection.sendall(HEAD % 10**19)
    while True:
        connection.sendall(b"[" * 65536)

def attempt(connection):
    try:
        serve(connection)
    except OSError:
        pass

listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    threading.Thread(target=attempt, args=(listener.accept()[0],), daemon=True).start()
"""
TIMES = ("--timing", "response=2", "--timing", "startup=5")


def test_every_answer_of_a_lab(place: Place) -> None:
    """The smoke session fails, and no requirement passes."""
    iut = [*place.program(f"HOLDS = False\n{LAB}"), "{port}"]
    done = place.run("openroberta/lab", *TIMES, iut=iut)
    assert done.code in (1, 3)
    assert done.report["counts"]["requirements"].get("pass", 0) == 0
    assert "Oversized" in done.smoke["detail"]
    assert [test["id"] for test in done.report["tests"]] == ["smoke"]


def test_an_answer_that_a_test_reads(place: Place) -> None:
    """A test that needs a member of this answer is inconclusive."""
    iut = [*place.program(f"HOLDS = True\n{LAB}"), "{port}"]
    done = place.run("openroberta/lab", *TIMES, "-k", "test_expectation", iut=iut)
    assert done.code == 3
    assert done.verdict("robustness.expectations") == "inconclusive"
    assert "the test cannot read this message: Oversized" in done.reason("robustness.expectations")
