"""Faults of mocks in live traffic, in its recording, and in its packets."""

import pytest

from conformance.definitions import protocols
from conformance.judging import captures, recordings
from conformance.selftest.driving import Place
from conformance.selftest.pairing import pair, report, violated
from conformance.traffic import pcap, pcapng

FAULTS = [
    ("vexide", "server", "ready-twice", "simulator", "ready.once"),
    ("vexide", "client", "version-two", "frontend", "handshake.version-one"),
    ("deltarobot", "server", "one-more-word", "server", "end.nothing-after"),
    ("deltarobot", "client", "big-endian-version", "client", "handshake.version-value"),
    ("openroberta", "server", "no-filename", "lab", "run.filename"),
    ("openroberta", "client", "no-battery", "robot", "data.battery"),
    ("runtime/rpc-server", "server", "own-ids", "rpc-server", "rpc.response-id"),
    ("runtime/rpc-server", "client", "map-requests", "rpc-client", "rpc.request-form"),
    ("runtime/log-publisher", "client", "warn", "log-publisher", "log.level-words"),
    ("runtime/gamepad-receiver", "client", "bare-pads", "gamepad-sender", "gamepad.form"),
    ("runtime/update-publisher", "client", "uids-in-hex", "update-publisher", "update.uid-form"),
    ("simspark/monitor", "server", "long-header", "server", "header.name"),
    ("simspark", "client", "init-first", "agent", "agents.create-first"),
]


@pytest.mark.parametrize(("protocol", "side", "fault", "role", "requirement"), FAULTS)
def test_a_fault_is_blamed_on_the_side_that_has_it_and_found_again_in_the_recording(
    place: Place, protocol: str, side: str, fault: str, role: str, requirement: str
) -> None:
    done = pair(place, protocol, "--max-time", "5", **{side: ("--fault", fault)})
    others = {path.name for path in done.folder.iterdir() if path.is_dir()} - {role}
    assert requirement in violated(done, role), done.out + done.err
    assert [name for name in others if violated(done, name)] == []
    live = {
        (finding["requirement"], finding["message"].split(" (")[0])
        for finding in report(done, role)["findings"]
    }
    path = done.folder / "session.jsonl"
    capture, loaded = captures.read(path), protocols.load(protocol.partition("/")[0])
    packets = done.folder / "session.pcapng"
    ports = pcapng.write(packets, capture, loaded)
    foreign = pcap.read(packets, loaded, pcapng.peers(capture, loaded), ports)
    assert foreign.left_out == ()
    for again in (
        recordings.read(path),
        recordings.judge_events(packets, loaded, foreign.capture, foreign.numbers),
    ):
        found = {(each.requirement, each.message.split(" (")[0]) for each in again.findings}
        assert found == live
