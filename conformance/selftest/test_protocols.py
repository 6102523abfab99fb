"""Every protocol, wherever it is kept, is well made: it breaks none of the rules."""

from pathlib import Path

import pytest

from conformance.checks import references, rules
from conformance.definitions import protocols
from conformance.selftest.driving import Place

SETS = {"toy": Path(__file__).with_name("toy")}
"""Protocols that are kept outside the suite, and where."""


@pytest.mark.parametrize("name", protocols.names())
def test_protocol(name: str) -> None:
    protocol = protocols.load(name)
    assert list(references.problems(protocol)) == []
    assert list(rules.broken(protocol)) == []


@pytest.mark.parametrize("name", SETS)
def test_protocol_of_another_set(name: str, place: Place) -> None:
    done = place.conformance("check", name, "--protocols", str(SETS[name]))
    assert (done.code, done.out) == (0, f"{name}: nothing is wrong\n"), done.out


def test_what_is_wrong_is_told(place: Place) -> None:
    """Captures that violate nothing or that are missing, and a test case of two requirements."""
    copy = place.folder / "set"
    done = place.execute(["cp", "-r", str(SETS["toy"]), str(copy)])
    assert done.code == 0
    captures = copy / "captures/toy"
    (captures / "messages.jsonl").unlink()
    header, *events = (captures / "session.jsonl").read_text("utf-8").splitlines()
    extra = '"origin": "counterexample", "iut": "server", "violates": "framing.layout"'
    (captures / "violation-none.jsonl").write_text(
        "\n".join([header.replace('"origin": "golden"', extra), *events]), "utf-8"
    )
    (captures / "session.jsonl").write_text(header + "\n" + events[0], "utf-8")
    impatient = captures / "violation-impatient.jsonl"
    impatient.unlink()
    test = copy / "conformance/toy/client/test_ping.py"
    twice = '@requirement("framing.layout")\n@requirement("ping.waits")'
    test.write_text(test.read_text("utf-8").replace('@requirement("ping.waits")', twice), "utf-8")
    done = place.conformance("check", "toy", "--protocols", str(copy))
    assert done.code == 2
    assert done.out.splitlines() == [
        "captures/toy/violation-none.jsonl: framing.layout is not found",
        "Pong: no golden capture has one of the server",
        "conformance/toy/oracle.py: whose turn it is: 'a Ping waits': client Ping: "
        "no capture violates ping.waits by it",
        "toy/client: its test cases cannot be collected: ping::waits_for_the_answer decides "
        "ping.waits and framing.layout: name one requirement",
    ]
