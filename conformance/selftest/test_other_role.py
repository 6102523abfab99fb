"""IUTs that play another role than the one under test: one message says so, and no test is run."""

import sys

import pytest

from conformance.selftest.driving import Place

CONNECTS = ("--connect", "{host}:{port}")
LISTENS = ("--listen", "127.0.0.1:{port}")
BRIEF = ("--timing", "startup=3", "--timing", "response=0.3")


@pytest.mark.parametrize(
    ("role", "plays", "words", "said"),
    [
        ("deltarobot/server", "client", CONNECTS, "connects to the address that it is to listen"),
        ("deltarobot/client", "server", LISTENS, "listens at the address that it is to connect"),
        ("openroberta/lab", "robot", CONNECTS, "connects to the address that it is to listen"),
        ("runtime/rpc-client", "rpc-server", LISTENS, "listens at the address that it is to"),
        ("runtime/gamepad-sender", "gamepad-receiver", LISTENS, "listens at the address that it"),
        ("vexide/simulator", "frontend", CONNECTS, "connects to the address that it is to listen"),
        ("simspark/monitor", "agent", CONNECTS, "Scene came, which only a"),
        ("simspark/agent", "monitor", CONNECTS, "if it is to be silent at first"),
    ],
)
def test_is_told(place: Place, role: str, plays: str, words: tuple[str, ...], said: str) -> None:
    """By whom connects, by what is sent, or by silence; and which role to test it as."""
    other = f"{role.partition('/')[0]}/{plays}"
    mock = [sys.executable, "-m", "mocks", other, *words]
    done = place.run(role, *BRIEF, iut=mock)
    assert said in done.smoke["detail"]
    assert f"test it as {other}" in done.smoke["detail"]
    assert f"test it as {other}" in " ".join(done.out.split())
    assert [test["id"] for test in done.report["tests"]] == ["smoke"]
    assert done.code in (1, 3)
    assert not done.left
