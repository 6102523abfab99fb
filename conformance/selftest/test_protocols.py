"""Every protocol, in any set, follows the rules of a well-made protocol."""

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.checks import references, rules
from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.judging.connections import judge_capture
from conformance.selftest.driving import Place

SETS = {"toy": Path(__file__).with_name("toy")}
"""Protocols outside the suite, and their folders."""


@pytest.mark.parametrize("name", protocols.names())
def test_protocol(name: str) -> None:
    protocol = protocols.load(name)
    assert list(references.problems(protocol)) == []
    assert list(rules.breaches(protocol)) == []


@pytest.mark.parametrize("name", protocols.names())
def test_a_silent_role_has_shown_nothing(name: str) -> None:
    """Peers' messages and ends exercise nothing of a role that sends nothing."""
    protocol = protocols.load(name)
    for path in (locations.folder("captures", name) or Path()).rglob("*.jsonl"):
        capture = captures.read(path)
        for role in protocol.roles:
            others = tuple(event for event in capture.events if event.sender != role)
            silent = replace(capture, events=others)
            assert judge_capture(protocol, silent, [role]).exercised == set(), path


@pytest.mark.parametrize("name", SETS)
def test_protocol_of_another_set(name: str, place: Place) -> None:
    done = place.conformance("check", name, "--protocols", str(SETS[name]))
    assert (done.code, done.out) == (0, f"{name}: no errors\n"), done.out


def test_what_is_wrong_is_told(place: Place) -> None:
    """Captures without a violation, a missing capture, and a test case of two requirements."""
    copy = place.folder / "set"
    done = place.execute(["cp", "-r", str(SETS["toy"]), str(copy)])
    assert done.code == 0
    kept = copy / "captures/toy"
    (kept / "messages.jsonl").unlink()
    header, *events = (kept / "session.jsonl").read_text("utf-8").splitlines()
    extra = '"origin": "counterexample", "iut": "server", "violates": "framing.layout"'
    (kept / "violation-none.jsonl").write_text(
        "\n".join([header.replace('"origin": "golden"', extra), *events]), "utf-8"
    )
    (kept / "session.jsonl").write_text(header + "\n" + events[0], "utf-8")
    impatient = kept / "violation-impatient.jsonl"
    impatient.unlink()
    test = copy / "conformance/toy/client/test_ping.py"
    twice = '@requirement("framing.layout")\n@requirement("ping.waits")'
    test.write_text(test.read_text("utf-8").replace('@requirement("ping.waits")', twice), "utf-8")
    done = place.conformance("check", "toy", "--protocols", str(copy))
    assert done.code == 2
    assert done.out.splitlines() == [
        "captures/toy/violation-none.jsonl: framing.layout was not found",
        "Pong: no golden capture contains this message of the server",
        "conformance/toy/oracle.py: whose turn it is: 'a Ping waits': client Ping: "
        "no capture violates ping.waits by this step",
        "toy/client: its test cases cannot be collected: ping::waits_for_the_answer decides "
        "ping.waits and framing.layout: name one requirement",
    ]
