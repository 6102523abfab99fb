"""Generated mutants: how they are made, and how they change a mock's messages."""

from pathlib import Path
from typing import Any

import pytest

from conformance.definitions import protocols
from conformance.proving import mutants
from mocks.mutants import (
    ACTS,
    ALWAYS,
    DROP,
    LATER,
    PUT,
    RECONNECTED,
    REPEAT,
    SKIP,
    SWAP,
    Mutant,
    Told,
)
from mocks.mutants import _Changer as Changer
from mocks.mutants import _Teller as Teller

DELTAROBOT = protocols.load("deltarobot")


@pytest.mark.parametrize(
    ("mutant", "expected"),
    [
        (Mutant("Ready", SKIP), "HVE"),
        (Mutant("Ready", REPEAT), "HVRRE"),
        (Mutant("Ready", SWAP), "HVER"),
        (Mutant("Exited", SWAP), "HVRE"),
        (Mutant("Ready", SKIP, LATER), "HVRE"),
        (Mutant("Ready", SKIP, RECONNECTED), "HVRE"),
    ],
)
@pytest.mark.parametrize("size", [1, 1000])
def test_messages_are_moved(mutant: Mutant, expected: str, size: int) -> None:
    """The mutant works with any size of writes; a held message comes at the end."""
    lines = {
        "H": b'{"Handshake":{"version":1,"extensions":[]}}\n',
        "V": b'{"VCodeSig":"WFZYNQIAAAAAAAAAAAAAAAAAAAAAAAAA"}\n',
        "R": b'"Ready"\n',
        "E": b'"Exited"\n',
    }
    sender = Changer(protocols.load("vexide"), "simulator", "stdio", mutant, 0)
    data = b"".join(lines.values())
    sent = [
        piece for at in range(0, len(data), size) for piece in sender.send(data[at : at + size])
    ]
    assert b"".join(sent + sender.rest()) == b"".join(lines[letter] for letter in expected)


def test_second_and_later_connections() -> None:
    mutant = Mutant("Ready", SKIP, RECONNECTED)
    for number, expected in enumerate([b'"Ready"\n', b"", b""]):
        sender = Changer(protocols.load("vexide"), "simulator", "tcp", mutant, number)
        assert b"".join(sender.send(b'"Ready"\n')) == expected


def test_what_would_change_is_told_once(tmp_path: Path) -> None:
    """No message is changed; a second process reports only further mutants."""
    applying = [
        Mutant("Handshake", PUT, path=("Handshake", "version"), value=2),
        Mutant("Ready", REPEAT),
        Mutant("Ready", SWAP),
    ]
    later = [Mutant("Ready", SKIP, LATER), Mutant("Exited", SWAP)]
    never = [
        Mutant("Handshake", DROP, path=("Handshake", "nothing")),
        Mutant("Handshake", PUT, path=("Handshake", "version"), value=1),
        Mutant("Ready", SKIP, RECONNECTED),
    ]
    file, changing = tmp_path / "mutants", tmp_path / "mutants.changing"
    file.write_text("".join(f"{mutant}\n" for mutant in [*applying, *later, *never]))
    data = b'{"Handshake":{"version":1,"extensions":[]}}\n"Ready"\n"Exited"\n'
    for sent, expected in ((data, applying), (data + b'"Ready"\n', [*applying, *later])):
        teller = Teller(protocols.load("vexide"), "simulator", "stdio", Told(file), 0)
        assert b"".join(teller.send(sent) + teller.rest()) == sent
        assert sorted(changing.read_text().splitlines()) == sorted(str(one) for one in expected)


@pytest.mark.parametrize(
    ("mutant", "expected"),
    [
        (Mutant("a", PUT, ALWAYS, ("x", 1, "y"), None), {"x": [0, {"y": None}], "z": 1}),
        (Mutant("a", DROP, ALWAYS, ("z",)), {"x": [0, {"y": 2}]}),
        (Mutant("a", PUT, ALWAYS, (), "b"), "b"),
    ],
)
def test_values_are_changed(mutant: Mutant, expected: Any) -> None:
    value = {"x": [0, {"y": 2}], "z": 1}
    assert mutant.changed(value) == expected
    assert value == {"x": [0, {"y": 2}], "z": 1}
    assert Mutant.parse(str(mutant)) == mutant


@pytest.mark.parametrize(
    "text", ["", "[]", "1", '{"message": "a"}', '{"message": "a", "act": "eat"}', '{"mesage": "a"}']
)
def test_what_is_no_mutant(text: str) -> None:
    with pytest.raises(ValueError, match="--mutant"):
        Mutant.parse(text)


def test_the_same_seed_makes_the_same_mutants() -> None:
    role = protocols.role("deltarobot/client")
    first, again, other = (mutants.make_mutants(DELTAROBOT, role, 8, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first) == 8


def test_every_way_to_be_wrong_is_made() -> None:
    """Each mutant names the requirement that should find it, unless it is another message."""
    role = protocols.role("vexide/frontend")
    made = mutants.make_mutants(protocols.load("vexide"), role, 10**6, 0)
    assert {one.mutant.act for one in made} == set(ACTS)
    bound = {entry.id for entry in protocols.load("vexide").requirements_for(role)}
    assert {one.requirement for one in made if one.mutant.act in (PUT, DROP)} <= bound | {""}
    assert Mutant("StartExecution", SKIP) in [one.mutant for one in made]
