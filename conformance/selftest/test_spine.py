"""Small modules: segmentation, configuration, loading of protocols, and judging."""

import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance import configuration
from conformance.codec import Decoder
from conformance.configuration import Configuration, KnownFailure
from conformance.definitions import locations, protocols
from conformance.definitions.schemas import Schema, SchemaError
from conformance.harness.links import AddressError, parse_address
from conformance.judging.captures import Capture, Event
from conformance.judging.connections import judge_capture
from conformance.judging.judge import MAX_FINDINGS, Judge
from conformance.segmentation import byte_by_byte, in_halves, split_at, whole

VEXIDE = protocols.load("vexide")
HANDSHAKE = b'{"Handshake":{"version":1,"extensions":[]}}\n'
READY = b'"Ready"\n'


# Segmentation


@given(st.binary(), st.lists(st.integers(-50, 50)))
def test_pieces_are_the_whole(data: bytes, places: list[int]) -> None:
    for cut in (whole, byte_by_byte, in_halves, split_at(places)):
        pieces = cut(data)
        assert b"".join(pieces) == data
        assert all(pieces) or not data


@pytest.mark.parametrize(
    ("places", "pieces"),
    [
        ([], [b"abcd"]),
        ([1], [b"a", b"bcd"]),
        ([-1], [b"abc", b"d"]),
        ([3, 1, 1], [b"a", b"bc", b"d"]),
        ([0, 4, 9, -9], [b"abcd"]),
    ],
)
def test_split_at(places: list[int], pieces: list[bytes]) -> None:
    assert split_at(places)(b"abcd") == pieces


# Configuration


def test_configuration_survives_json() -> None:
    given = Configuration(
        protocols.role("vexide/simulator"),
        command=("a", "{port}"),
        timing={"quiet": 0.5},
        known_failures={"ready.sent": KnownFailure("x", "y", "2030-01-01")},
        max_wait=1.5,
    )
    assert Configuration.from_json(given.to_json()) == given


def test_defaults_come_from_the_protocol() -> None:
    given = Configuration(protocols.role("vexide/simulator"), timing={"quiet": 0.5})
    assert given.seconds("quiet") == 0.5
    assert given.seconds("response") == VEXIDE.timings["response"].default
    assert given.value("ports") == "auto"


def test_file(tmp_path: Path) -> None:
    file = tmp_path / "conformance.toml"
    file.write_text(
        '[iut]\nname = "mine"\nrole = "vexide/simulator"\ncommand = "./run \'a b\'"\ncwd = "sub"\n'
        'env = {A = "1"}\n[timing]\nquiet = 1\n[programs]\nprint = "p"\n[ixit]\nports = "bare"\n'
        '[unsupported]\nother-transports = "none"\n[known-failures]\n"ready.once" = "twice"\n'
        '"ready.sent" = {reason = "late", message = "no", until = 2030-01-01}\n'
    )
    loaded = configuration.load(file)
    assert loaded.command == ("./run", "a b")
    assert loaded.cwd == str(tmp_path / "sub")
    assert loaded.env == {"A": "1"}
    assert loaded.timing == {"quiet": 1.0}
    assert loaded.known_failures == {
        "ready.once": KnownFailure("twice"),
        "ready.sent": KnownFailure("late", "no", "2030-01-01"),
    }
    assert configuration.check_configuration(loaded) == loaded


def test_placeholders() -> None:
    values = {"port": "80", "device": '{"a": {}}'}
    assert configuration.expand("x:{port}{other} {", values) == "x:80{other} {"
    assert configuration.expand("{device}", values) == '{"a": {}}'
    assert configuration.expand("{python}", {}) == sys.executable


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("http://127.0.0.1:1999", ("127.0.0.1", 1999)),
        ("http://[::1]:80/", ("::1", 80)),
        ("http://localhost", ("localhost", 80)),
        ("https://localhost", ("localhost", 443)),
        ("unix:/a/b", "/a/b"),
    ],
)
def test_addresses(address: str, where: object) -> None:
    assert parse_address(address) == where


@pytest.mark.parametrize("address", ["host", "host:99999", "ftp://host:1", "http://a/b:80", ":1"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(AddressError, match="expected HOST:PORT"):
        parse_address(address)


# Finding protocols


def test_names_are_those_of_the_folders() -> None:
    root = Path(__file__).parents[2]
    assert set(protocols.names()) <= {entry.name for entry in (root / "schemas").iterdir()}
    assert "vexide" in protocols.names()


def test_added_set_is_found_here_and_by_children(tmp_path: Path) -> None:
    for kind in ("schemas", "captures"):
        (tmp_path / kind / "mine").mkdir(parents=True)
    code = (
        "import subprocess, sys\n"
        "from pathlib import Path\n"
        "from conformance.definitions import locations\n"
        "if len(sys.argv) > 1: locations.add(Path(sys.argv[1])); locations.add(Path(sys.argv[1]))\n"
        "assert locations.sets().count(Path(sys.argv[-1])) == 1 or len(sys.argv) == 1\n"
        "print(locations.folder('schemas', 'mine'), flush=True)\n"
        "if len(sys.argv) > 1: subprocess.run([sys.executable, '-c', sys.stdin.read()])\n"
    )
    env = {key: value for key, value in os.environ.items() if key != locations.VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        input="from conformance.definitions import locations as here; "
        "print(here.folder('schemas', 'mine'))",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [str(tmp_path / "schemas" / "mine")] * 2


def test_built_in_set_comes_first() -> None:
    folder = locations.folder("schemas", "vexide")
    assert folder == locations.sets()[0] / "schemas" / "vexide"
    assert locations.folder("schemas", "nothing") is None


# Judging


def session(*events: Event) -> Capture:
    return Capture("vexide", "", "recorded", (), events)


def test_only_the_judged_role_has_findings() -> None:
    capture = session(Event(0, "frontend", READY), Event(0, "simulator", HANDSHAKE))
    frontend = judge_capture(VEXIDE, capture, ["frontend"])
    assert {f.requirement for f in frontend.findings} >= {"roles.own-messages"}
    assert frontend.foreign == "Ready"
    simulator = judge_capture(VEXIDE, capture, ["simulator"])
    assert {f.requirement for f in simulator.findings} == {"handshake.answered"}
    assert not simulator.foreign


def test_finding_names_the_event_that_shows_it() -> None:
    capture = session(
        Event(0, None, event="connected"),
        Event(0, "frontend", HANDSHAKE),
        Event(0, "simulator", HANDSHAKE[:10]),
        Event(0, "simulator", HANDSHAKE[10:] + READY[:3]),
        Event(0, "simulator", READY[3:] + READY),
    )
    judge = judge_capture(VEXIDE, capture, ["simulator"])
    assert [(f.requirement, f.event) for f in judge.findings] == [("ready.once", 4)]


def test_bytes_that_are_no_message_spoil() -> None:
    judge = judge_capture(VEXIDE, session(Event(0, "simulator", b"hello\n")), ["simulator"])
    assert judge.spoiled
    judge = judge_capture(VEXIDE, session(Event(0, "frontend", b"hello\n")), ["simulator"])
    assert not judge.spoiled
    assert not judge.findings


def test_rest_is_judged_at_the_end() -> None:
    cut = session(Event(0, "simulator", b'{"Log'), Event(1, "simulator", event="closed"))
    judge = judge_capture(VEXIDE, cut, ["simulator"])
    assert [(f.requirement, f.event) for f in judge.findings] == [("framing.json-lines", 0)]


def test_findings_are_bounded_and_told_once() -> None:
    def judged(line: bytes) -> int:
        judge = Judge(VEXIDE, ["simulator"])
        for number in range(10 * MAX_FINDINGS):
            for frame in judge.decode("simulator", line.replace(b"?", b"%d" % number)):
                judge.frame(number, "simulator", frame)
        assert len(set(judge.findings)) == len(judge.findings)
        return len(judge.findings)

    assert judged(b"hello\n") == 1
    assert judged(b'{"Unknown?": 0}\n') == MAX_FINDINGS


def test_what_does_not_fit_is_explained_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    explained = Counter[str]()
    explain = Schema.explain

    def counting(schema: Schema, value: object) -> tuple[list[SchemaError], set[str]]:
        explained["times"] += 1
        return explain(schema, value)

    monkeypatch.setattr(Schema, "explain", counting)
    judge = Judge(VEXIDE, ["simulator"])
    for number in range(2 * MAX_FINDINGS):
        line = b'{"Serial": {"channel": "%d", "data": ""}}\n' % number
        for frame in judge.decode("simulator", line):
            judge.frame(number, "simulator", frame)
    assert explained["times"] == MAX_FINDINGS
    texts = (f'Serial.channel: expected an integer; received "{number}"' for number in range(9))
    assert set(texts) <= {finding.message for finding in judge.findings}


def test_fragment_has_no_order() -> None:
    events = (Event(0, "simulator", READY), Event(0, "simulator", READY))
    fragment = Capture("vexide", "", "golden", (), events, {"fragment": True})
    assert not judge_capture(VEXIDE, fragment, ["simulator"]).findings
    assert judge_capture(VEXIDE, session(*events), ["simulator"]).findings


def test_a_codec_is_told_whose_bytes_it_reads() -> None:
    """A codec can ask for the party whose bytes it decodes."""
    asked: list[str] = []

    class Codec:
        @staticmethod
        def decoder(party: str) -> Decoder:
            asked.append(party)
            made: Decoder = VEXIDE.codec.Decoder()
            return made

    protocol = replace(VEXIDE)
    protocol.__dict__["codec"] = Codec
    [frame] = protocol.decoder("frontend").feed(b'"StartExecution"\n')
    assert (asked, frame.name) == (["frontend"], "StartExecution")
    assert VEXIDE.decoder("frontend").feed(b'"StartExecution"\n') == [frame]
