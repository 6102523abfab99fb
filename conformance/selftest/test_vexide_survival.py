"""Evidence that an IUT without operations or programs understands messages after a bad line."""

import pytest

from conformance.selftest.driving import SIMULATOR, TIMINGS, Place

MALFORMED, DRAWING = "robustness::malformed_line[text]", "events::event_while_running[fill]"
TESTS = "test_malformed_line and text or test_event_while_running and fill"

FRONTEND = """
import json, subprocess, sys

def say(message):
    peer.stdin.write(json.dumps(message).encode() + b"\\n")
    peer.stdin.flush()

peer = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
say({"Handshake": {"version": 1, "extensions": []}})
for line in peer.stdout:
    try:
        event = json.loads(line)
    except ValueError:
        if DEAF == "malformed":
            break
        continue
    name = event if isinstance(event, str) else next(iter(event))
    if name == DEAF:
        break
    if name == "Ready" and STARTS:
        say("StartExecution")
    if name == "Log" and "logs" in SHOWS:
        print(event["Log"]["message"], file=sys.stderr, flush=True)
    if name == "Exited" and "leaves" in SHOWS:
        sys.exit()
for line in peer.stdout:
    pass
"""


def verdicts(place: Place, starts: bool, shows: str, deaf: str) -> tuple[str, str]:
    known = f"STARTS, SHOWS, DEAF = {starts}, {shows!r}, {deaf!r}\n"
    iut = [*place.program(known + FRONTEND), "{simulator}"]
    done = place.run("vexide/frontend", *TIMINGS, "-k", TESTS, iut=iut)
    assert not done.left
    return done.tests[MALFORMED], done.tests[DRAWING]


@pytest.mark.parametrize("shows", ["leaves", "logs"])
@pytest.mark.parametrize(
    ("starts", "deaf", "expected"),
    [
        (True, "", ("pass", "pass")),
        (True, "malformed", ("warn", "pass")),
        (True, "ScreenDraw", ("pass", "fail")),
        (False, "", ("pass", "not-exercised")),
        (False, "malformed", ("warn", "not-exercised")),
    ],
)
def test_who_reads_on_need_not_understand(
    place: Place, shows: str, starts: bool, deaf: str, expected: tuple[str, str]
) -> None:
    """An IUT that exits with its simulator, and has taken nothing more, does not pass."""
    assert verdicts(place, starts, shows, deaf) == expected


def test_what_nothing_shows_is_not_exercised(place: Place) -> None:
    assert verdicts(place, False, "", "") == ("not-exercised", "not-exercised")


OPERATED = """
import json, subprocess, sys, threading

def say(message):
    peer.stdin.write(json.dumps(message).encode() + b"\\n")
    peer.stdin.flush()

def play():
    for line in peer.stdout:
        event = json.loads(line)
        if "Handshake" in event and len(event["Handshake"]) > 2:
            break
        if event == "Ready":
            say("StartExecution")
    for line in peer.stdout:
        pass

peer = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
say({"Handshake": {"version": 1, "extensions": []}})
threading.Thread(target=play, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], "ok": False, "offered": False}), flush=True)
"""


def test_operations_that_are_not_offered_hide_no_failure(place: Place) -> None:
    """A frontend that refuses Handshakes with unknown fields fails, with an upper tester, too."""
    command = [*place.program(OPERATED), "{simulator}"]
    place.file(
        "conformance.toml",
        f'[iut]\nrole = "vexide/frontend"\nupper_tester = "stdio"\ncommand = {command}\n',
    )
    chosen = "test_unknown_fields and null and handshake or starts_after_ready"
    done = place.run(*TIMINGS, "-k", chosen)
    assert not done.left
    assert done.tests["setup::starts_after_ready"] == "pass"
    assert done.tests["handshake::unknown_fields[null]"] == "fail"


SERVING = """
for line in sys.stdin:
    try:
        command = json.loads(line)
    except ValueError:
        if UPON == "closes":
            break
        if UPON == "dies":
            raise
        if UPON == "reads on":
            sys.stdin.read()
        if UPON == "hangs":
            time.sleep(60)
        continue
    if "Handshake" in command:
        say(HELLO, SIGNATURE, "Ready")
    if command == "StartExecution" and SHOWS:
        say({"Serial": {"channel": 1, "data": "SGkhCg=="}})
"""


@pytest.mark.parametrize(
    ("shows", "upon", "expected"),
    [
        (True, "", "pass"),
        (True, "reads on", "warn"),
        (False, "", "not-exercised"),
        (False, "reads on", "not-exercised"),
        (False, "closes", "pass"),
        (False, "dies", "warn"),
        (False, "hangs", "inconclusive"),
    ],
)
def test_a_simulator_that_ends_with_its_input_need_not_understand(
    place: Place, shows: bool, upon: str, expected: str
) -> None:
    iut = place.simulator(f"SHOWS, UPON = {shows}, {upon!r}\n{SERVING}")
    done = place.run(SIMULATOR, *TIMINGS, "-k", "test_malformed_line and text", iut=iut)
    assert not done.left
    assert done.tests[MALFORMED] == expected
