"""The diagnosis of bytes that are no deltarobot messages."""

import math
import struct

import pytest

from conformance.deltarobot.diagnosis import guess_number_format, has_fourth_numbers
from conformance.selftest.driving import Place

RUBBISH = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as server:
    server.sendall(bytes.fromhex(sys.argv[3]))
    while server.recv(4096):
        pass
"""

CIRCLE = [value for turn in range(24) for value in (math.cos(turn / 4), math.sin(turn / 4), 0.25)]


def words(form: str, numbers: list[float]) -> list[bytes]:
    data = b"".join(struct.pack(form, number) for number in numbers)
    return [data[at : at + 4] for at in range(0, len(data), 4)]


@pytest.mark.parametrize(
    ("form", "what"),
    [
        ("<f", None),
        (">f", "big-endian numbers"),
        ("<d", "numbers of double precision"),
    ],
)
def test_readings_of_a_circle(form: str, what: str | None) -> None:
    assert guess_number_format(words(form, CIRCLE)) == what


@pytest.mark.parametrize(("form", "what"), [("<i", "integers"), (">i", "big-endian integers")])
def test_integers(form: str, what: str) -> None:
    data = b"".join(struct.pack(form, number) for number in range(-20, 20))
    assert guess_number_format([data[at : at + 4] for at in range(0, len(data), 4)]) == what


@pytest.mark.parametrize("numbers", [[1e-39] * 40, [1e30 * n for n in range(20)], CIRCLE[:5], []])
def test_strange_numbers_need_not_be_wrong(numbers: list[float]) -> None:
    assert guess_number_format(words("<f", numbers)) is None


def test_fours() -> None:
    points = [CIRCLE[at : at + 3] for at in range(0, len(CIRCLE), 3)]
    assert has_fourth_numbers(words("<f", [value for point in points for value in (*point, 0.0)]))
    assert not has_fourth_numbers(words("<f", CIRCLE))
    assert not has_fourth_numbers(words("<f", [0.0] * 48))


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(b"D \x822<\xfd\xe6\xf1\xc2k0\xf9", id="binary"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="another protocol"),
        pytest.param(b"hello, server\n", id="text"),
    ],
)
def test_rubbish_of_a_client(rubbish: bytes, place: Place) -> None:
    """The first line says that no message began, and shows the bytes."""
    iut = [*place.program(RUBBISH), "{host}", "{port}", rubbish.hex()]
    times = ("--timing", "startup=2", "--timing", "response=0.5")
    done = place.run("deltarobot/client", *times, iut=iut)
    assert done.code == 1
    first = done.report["causes"][0]
    assert first["requirement"] == "handshake.first"
    assert f"the first bytes, {rubbish!r}, begin no known message" in first["what"]
    lines = done.out[done.out.index("FAIL") :].splitlines()
    assert repr(rubbish) in lines[1]
