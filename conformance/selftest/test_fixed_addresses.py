"""An IUT that is started by a command and has its address compiled in: one of it at a time."""

import socket
import sys

import pytest

from conformance.harness.links import free_port
from conformance.selftest.driving import Place

MOCK = [sys.executable, "-m", "mocks"]


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
    """Whoever is there is not tested in the place of the command."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"127.0.0.1:{other.getsockname()[1]}"
        iut = [*MOCK, "vexide/simulator", "--listen", address]
        words = ("vexide/simulator", "--connect", address, "--requirement", "ready.once")
        done = place.run(*words, iut=iut)
    assert done.code == 3
    assert "somebody else has" in done.out


def test_several_at_a_time_cannot_be(place: Place) -> None:
    words = ("vexide/simulator", "--connect", "127.0.0.1:9", "-n", "4")
    done = place.run(*words, iut=[*MOCK, "vexide/simulator"])
    assert (done.code, done.err.count("has a fixed address")) == (2, 1)
