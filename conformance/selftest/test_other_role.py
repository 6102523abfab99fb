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
        ("runtime/gamepad-sender", "gamepad-receiver", LISTENS, "takes datagrams at the address"),
        ("vexide/simulator", "frontend", CONNECTS, "connects to the address that it is to listen"),
        ("simspark/monitor", "agent", CONNECTS, "Scene came, which only a"),
        ("simspark/agent", "monitor", CONNECTS, "if it is to be silent at first"),
        ("runtime/gamepad-receiver", "gamepad-sender", CONNECTS, "sends datagrams to the address"),
        ("runtime/log-publisher", "update-publisher", CONNECTS, "sends datagrams to the address"),
        ("runtime/update-publisher", "log-publisher", CONNECTS, "connects to the address that"),
        ("runtime/buffer-owner", "buffer-consumer", (), "it has the operation 'list', and not"),
        ("runtime/buffer-consumer", "buffer-owner", (), "it has the operation 'connect', and not"),
    ],
)
def test_is_told(place: Place, role: str, plays: str, words: tuple[str, ...], said: str) -> None:
    """By whom connects, over what, what is sent, operations or silence; and its role is named."""
    other = f"{role.partition('/')[0]}/{plays}"
    mock = [sys.executable, "-m", "mocks", other, *words]
    done = place.run(role, *BRIEF, iut=mock)
    assert said in done.smoke["detail"]
    _, _, named = done.smoke["detail"].partition("test it as ")
    assert other in named
    assert other in " ".join(done.out.split())
    assert [test["id"] for test in done.report["tests"]] == ["smoke"]
    assert done.code in (1, 3)
    assert not done.left


def test_one_that_lacks_every_operation_is_told_so_once_nothing_could_be_tried(
    place: Place,
) -> None:
    """It connects, as its role does, and nothing more shows on the wire."""
    mock = [sys.executable, "-m", "mocks", "runtime/log-publisher", *CONNECTS, "--upper-tester"]
    done = place.run("runtime/rpc-client", *BRIEF, iut=mock)
    assert "test it as runtime/log-publisher" in done.report["headline"]
    assert done.code == 3
    assert not done.left
