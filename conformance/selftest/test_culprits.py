"""Experiments about sessions that real IUTs end: each cause has its culprit, or none."""

import json
import shlex

from conformance.selftest.driving import SIMULATOR, TIMINGS, Done, Place

SERVING = """
for command in commands():
    if "Handshake" in command:
        say(HELLO, SIGNATURE, "Ready")
    if command == "StartExecution":
        say({"Serial": {"channel": 1, "data": "SGkhCg=="}}, "Exited")
        break
    """
TESTS = "setup_before_ready or setup_after_ready or adi-last and not running"


def tried(place: Place, reaction: str, *words: str) -> Done:
    """Run tests of commands against a simulator that reacts in this way to a command."""
    iut = place.simulator(SERVING + reaction)
    done = place.run(SIMULATOR, *TIMINGS, "-k", TESTS, *words, iut=iut)
    assert not done.left
    assert done.report["problems"] == []
    return done


def test_a_simulator_that_dies_of_a_message(place: Place) -> None:
    done = tried(place, 'if "SetBatteryCapacity" in command: raise ValueError("no battery")')
    [cause] = done.report["causes"]
    assert (cause["kind"], cause["requirement"]) == ("end", "setup.commands-handled")
    assert cause["said"] == "it said: ValueError: no battery"
    assert (cause["culprit"]["message"], cause["culprit"]["shown"]) == ("SetBatteryCapacity", True)
    lines = [json.loads(line) for line in done.text(cause["culprit"]["capture"]).splitlines()]
    assert [line["message"] for line in lines if line.get("from") == "frontend"] == [
        "Handshake",
        "SetBatteryCapacity",
    ]
    assert lines[1 + cause["event"]]["message"] == "SetBatteryCapacity"
    again = place.conformance(*shlex.split(cause["replay"])[1:])
    assert again.code == 1
    assert "ValueError: no battery" in again.out


def test_a_simulator_that_closes_the_stream_at_two_messages(place: Place) -> None:
    """Each message is a cause. Without both messages, all tests pass."""
    words = ("--without", "SetBatteryCapacity", "--without", "AdiInput")
    closes = 'if {"SetBatteryCapacity", "AdiInput"} & {*command}: break'
    done = tried(place, closes)
    found = {cause["requirement"]: cause["culprit"]["message"] for cause in done.report["causes"]}
    assert found == {
        "setup.commands-handled": "SetBatteryCapacity",
        "commands.undefined-tolerated": "AdiInput",
    }
    assert {*tried(place, closes, *words).tests.values()} == {"pass"}


def test_an_empty_datagram_is_a_message(place: Place) -> None:
    """Experiments and replays send it, and remove the objects of the programs that it kills."""
    words = ("--mock", "--fault", "dies-of-empty-datagrams", "--test", "input::odd_messages")
    done = place.run("runtime/gamepad-receiver", *words)
    [cause] = done.report["causes"]
    assert (cause["kind"], cause["culprit"]["shown"]) == ("end", True)
    lines = [json.loads(line) for line in done.text(cause["culprit"]["capture"]).splitlines()]
    assert [line.get("text") for line in lines if line.get("from") == "gamepad-sender"][-1] == ""
    assert "was killed by SIGKILL" in place.conformance(*shlex.split(cause["replay"])[1:]).out


SERVER = """
import os, socket, sys, time
import msgpack
listening = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    link, _ = listening.accept()
    unpacker = msgpack.Unpacker()
    while data := link.recv(4096):
        unpacker.feed(data)
        for asked in unpacker:
            if len(asked) == 1:
                time.sleep(0.1)
                os._exit(1)
            link.sendall(msgpack.packb([1, asked[1], None, asked[-1]]))
"""


def test_a_close_with_unread_bytes_is_a_close(place: Place) -> None:
    """Bytes that the IUT has not read reset the connection; they are not the culprit."""
    iut = [*place.program(SERVER), "{port}"]
    words = ("--test", "robustness::malformed_requests[others]")
    [cause] = place.run("runtime/rpc-server", *words, iut=iut).report["causes"]
    assert (cause["kind"], cause["culprit"]["value"]) == ("end", "[0]")


SENDER = """
import json, socket, sys
from conformance.runtime.codec import encode
link = socket.socket(type=socket.SOCK_DGRAM)
for line in sys.stdin:
    asked = json.loads(line)
    pads = asked["args"]
    if len(pads) > 1:
        sys.exit(3)
    for index, pad in pads.items():
        pads[index] = dict(zip(("lx", "ly", "rx", "ry"), map(float, pad["axes"])))
        pads[index]["btn"] = sum(pressed << bit for bit, pressed in enumerate(pad["buttons"]))
    message = encode({"gamepads": pads})
    link.sendto(message, ("127.0.0.1", int(sys.argv[1])))
    print(json.dumps({"id": asked["id"], "ok": True}), flush=True)
"""


def test_an_exit_ends_a_session_of_datagrams(place: Place) -> None:
    """A program that exchanges datagrams has no stream to close: its exit is the end."""
    iut = [*place.program(SENDER), "{port}"]
    done = place.run("runtime/gamepad-sender", "--test", "gamepads::four_gamepads", iut=iut)
    [cause] = done.report["causes"]
    assert (cause["kind"], cause["culprit"]["message"]) == ("end", "gamepads")
    assert cause["culprit"]["shown"]
    assert cause["what"] == "the IUT exited with code 3 during the operation gamepads"


CLIENT = """
import socket, sys, time
from conformance.deltarobot.codec import Decoder, encode
from conformance.deltarobot.messages import HANDSHAKE, pong
later = False
while True:
    try:
        link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        link.sendall(b"".join(map(encode, HANDSHAKE)))
        decoder = Decoder()
        if later:
            time.sleep(0.15)
        while not later and (data := link.recv(4096)):
            for frame in decoder.feed(data):
                if frame.name == "Ping":
                    link.sendall(encode(pong(frame.value["number"])))
        link.shutdown(socket.SHUT_WR)
        link.close()
        later = True
    except OSError:
        time.sleep(0.05)
"""


def test_a_connection_that_ends_without_any_message_has_no_culprit(place: Place) -> None:
    """A client can end a connection in which the suite does nothing."""
    iut = [*place.program(CLIENT), "{port}"]
    words = ("--timing", "response=0.5", "--test", "reconnecting::answers_again")
    [cause] = place.run("deltarobot/client", *words, iut=iut).report["causes"]
    assert (cause["requirement"], cause["kind"]) == ("pong.each", "missing")
    assert cause["culprit"] is None


def test_a_run_can_leave_experiments_out(place: Place) -> None:
    """Without experiments, a crash has candidates, and each requirement is a separate cause."""
    done = tried(place, 'if "SetBatteryCapacity" in command: os._exit(1)', "--no-isolate")
    assert not any((cause["culprit"] or {}).get("shown") for cause in done.report["causes"])
