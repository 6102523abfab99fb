"""Mistakes in a protocol's files: each gets one line with file and place."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import conformance
import mocks
from conformance import cli
from conformance.checks import references
from conformance.definitions import locations, protocols
from conformance.definitions.protocols import BrokenProtocol

TOY = Path(__file__).with_name("toy")

REQUIREMENTS = "schemas/toy/requirements.yaml"
PROTOCOL = "schemas/toy/protocol.yaml"
SUITE = "conformance/toy"

MISTAKES = [
    (REQUIREMENTS, "[client]", "[cleint]", "ping.waits: binds: unknown role 'cleint'"),
    (REQUIREMENTS, "level: should", "level: shuold", "ping.waits: unknown level 'shuold'"),
    (REQUIREMENTS, "level: should", "origin: tetx\n  level: should", "unknown origin 'tetx'"),
    (REQUIREMENTS, "level: should", "levle: should", "ping.waits: unknown word 'levle'"),
    (REQUIREMENTS, "level: should", "level: should\n  tested: none", "tested is wire or hook"),
    (REQUIREMENTS, "level: should", "origin: reading\n  level: should", "a reading has a note"),
    (
        REQUIREMENTS,
        "binds: [client]",
        "binds: client",
        "ping.waits: binds: expected a list of names; found 'client'",
    ),
    (REQUIREMENTS, '  section: "3"\n', "", "ping.waits: 'section' is missing"),
    (REQUIREMENTS, "id: ping.waits", "id: ping_waits", "'ping_waits' is not of the form area.slug"),
    (REQUIREMENTS, "id: ping.waits", "id: pong.answers", "pong.answers occurs twice"),
    (REQUIREMENTS, "level: should", "level: [should", "not YAML: "),
    (
        REQUIREMENTS,
        "level: should",
        "presumes: [framing.layuot]\n  level: should",
        "ping.waits: presumes: unknown requirement 'framing.layuot'",
    ),
    (
        REQUIREMENTS,
        "id: pong.answers",
        "id: pong.answers\n  presumes: [ping.waits]",
        "pong.answers: a must cannot presume 'ping.waits'",
    ),
    (
        REQUIREMENTS,
        "level: should",
        "presumes: [ping.waits]\n  level: should",
        "ping.waits: presumes itself",
    ),
    (PROTOCOL, "from: client", "from: cleint", "Ping: from: unknown party 'cleint'"),
    (PROTOCOL, "schema: pong.json", "schema: pnog.json", "Pong: unknown schema 'pnog.json'"),
    (PROTOCOL, "schema_requirement: framing", "schema_requirement: farming", "schema_requirement"),
    (
        PROTOCOL,
        "messages:",
        "groups: {all: [Pnig]}\nmessages:",
        "groups.all: unknown message 'Pnig'",
    ),
    (PROTOCOL, "peer: client", "peer: cleint", "roles.server.peer: unknown peer 'cleint'"),
    (PROTOCOL, "serves: true", "servse: true", 'roles.server: expected the member "serves"'),
    (
        PROTOCOL,
        "transports: [stdio",
        "transports: [sdtio",
        "roles.server.transports[0]: expected one of",
    ),
    (PROTOCOL, "\nmessages:", "\nfeatures: {a: [ping.wiats]}\nmessages:", "features.a: unknown"),
    (PROTOCOL, "{default: 10,", "{roles: [sevrer], default: 10,", "startup: roles: unknown role"),
    (PROTOCOL, "{default: 10,", "{defualt: 10,", 'timings.startup: expected no member "defualt"'),
    ("schemas/toy/ping.json", '"$id": "ping', '"$id": "pong', "found 'pong.json'"),
    ("schemas/toy/ping.json", '  "$id": "ping.json",\n', "", "found None"),
    ("schemas/toy/ping.json", '"const": 1', '"const": ', "not JSON"),
    ("schemas/toy/ping.json", '"const"', '"$ref": "kind.json", "const"', "schema 'kind.json'"),
    (
        "schemas/toy/ping.json",
        '"const"',
        '"x-requirement": "framing.kidn", "const"',
        "x-requirement: unknown requirement 'framing.kidn'",
    ),
    ("captures/toy/session.jsonl", '"ping.waits"', '"ping.wiats"', ":1: unknown requirement"),
    ("captures/toy/session.jsonl", '"golden"', '"gloden"', ":1: unknown origin 'gloden'"),
    ("captures/toy/session.jsonl", '"toy"', '"tyo"', ":1: protocol: expected 'toy'"),
    (
        "captures/toy/violation-other-number.jsonl",
        '"violates": "pong',
        '"violates": "pnog',
        ":1: unknown requirement 'pnog.answers'; did you mean pong.answers?",
    ),
    (
        "captures/toy/violation-other-number.jsonl",
        '"iut": "server"',
        '"iut": "sevrer"',
        ":1: unknown role 'sevrer'",
    ),
    (
        f"{SUITE}/oracle.py",
        'add("ping.waits")',
        'add("ping.wiats")',
        "unknown requirement 'ping.wiats'",
    ),
    (f"{SUITE}/oracle.py", 'Finding("pong.', 'Finding("pnog.', "unknown requirement 'pnog."),
    (f"{SUITE}/oracle.py", "class Oracle", "class Orcale", "Oracle is missing"),
    (f"{SUITE}/codec.py", "def end(", "def ned(", "Decoder has no method 'end'"),
    (f"{SUITE}/codec.py", "def encode(", "def encdoe(", "encode is missing"),
    (f"{SUITE}/server/test_pong.py", '"framing.layout"', '"farming.layout"', ":16: unknown req"),
    (f"{SUITE}/server/__init__.py", '"pong.answers"', '"ping.waits"', "SMOKE: unknown req"),
    (f"{SUITE}/server/__init__.py", "SMOKE", "SMOEK", "SMOKE = "),
    (
        f"{SUITE}/client/test_ping.py",
        'session.expect("Ping")',
        'session.expect("Pign")',
        "unknown message 'Pign'; did you mean Ping",
    ),
    ("mocks/toy/server.py", "PEER", "PERE", "PEER is missing"),
    ("mocks/toy/server.py", "def take(", "def taek(", "Server has no method 'take' (did you mean"),
    ("mocks/toy/client.py", "def take(", "def tkae(", "Client has no method 'take'"),
    ("mocks/toy/server.toml", "toy/server", "toy/sevrer", "iut.role: expected 'toy/server'"),
    ("mocks/toy/server.toml", "toy/server", "toy/client", "iut.role: expected 'toy/server'"),
    ("mocks/toy/server.toml", "[iut]", "[itu]", "not a configuration: 'iut'"),
    ("mocks/toy/server.toml", "[iut]", "[timing]\nstrartup=1\n[iut]", "timing: unknown name 'st"),
    ("mocks/toy/faults/server.py", 'violates="pong', 'violates="pnog', "unknown requirement 'pnog"),
]

Changed = Callable[[str, str, str], str]


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changed:
    """Return a function that changes a copy of the toy protocol, and returns the file."""
    copy = tmp_path / "set"
    shutil.copytree(TOY, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv(locations.VARIABLE, str(copy))
    monkeypatch.setattr(protocols, "checks", {references.check})
    for package in (conformance, mocks):
        path = [*package.__path__, str(copy / package.__name__)]
        monkeypatch.setattr(package, "__path__", path)
    monkeypatch.setattr(protocols, "load", protocols.load.__wrapped__)

    def changed(file: str, old: str, new: str) -> str:
        text = (copy / file).read_text("utf-8")
        assert old in text
        (copy / file).write_text(text.replace(old, new), "utf-8")
        return str(copy / file)

    return changed


def test_the_toy_is_sound(change: Changed) -> None:
    assert protocols.load("toy").title == "Toy protocol"


@pytest.mark.parametrize(("file", "old", "new", "expected"), MISTAKES)
def test_mistake(change: Changed, file: str, old: str, new: str, expected: str) -> None:
    path = change(file, old, new)
    with pytest.raises(BrokenProtocol) as error:
        protocols.load("toy")
    output = str(error.value)
    assert output.startswith(f"{path}:"), output
    assert expected in output
    assert "\n" not in output


def test_a_smoke_session_that_no_test_case_repeats(change: Changed) -> None:
    change(f"{SUITE}/client/test_ping.py", '"ping.waits"', '"framing.layout"')
    with pytest.raises(BrokenProtocol, match=r"SMOKE: no test case of toy/client decides ping\."):
        protocols.load("toy")


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["list", "toy/client"],
        ["run", "toy/server", "--mock"],
        ["mock", "toy/server"],
        ["prove", "toy"],
        ["init", "toy/server"],
        ["check", str(TOY / "captures/toy/session.jsonl")],
        ["show", str(TOY / "captures/toy/session.jsonl")],
        ["replay", str(TOY / "captures/toy/violation-other-number.jsonl"), "--role", "server"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_says_it(
    change: Changed, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    file = change(REQUIREMENTS, "[client]", "[cleint]")
    assert cli.main(words) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"conformance: {file}: ping.waits: binds: unknown role 'cleint'")
    assert output.err.count("\n") == 1


def test_all_are_counted(change: Changed) -> None:
    change(REQUIREMENTS, "[client]", "[cleint]")
    change(PROTOCOL, "from: server", "from: sevrer")
    with pytest.raises(BrokenProtocol, match=r"\(and \d+ more: conformance check toy\)"):
        protocols.load("toy")


@pytest.mark.parametrize("name", protocols.names())
def test_protocols_are_sound(name: str) -> None:
    assert list(references.problems(protocols.load(name))) == []


def test_test_cases_of_all_roles_are_a_package(change: Changed) -> None:
    path = Path(change(f"{SUITE}/codec.py", "Decoder", "Decoder")).with_name("both")
    path.mkdir()
    with pytest.raises(BrokenProtocol, match=r"both/__init__\.py is missing"):
        protocols.load("toy")
