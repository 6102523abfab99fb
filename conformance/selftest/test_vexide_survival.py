"""Evidence that an IUT without operations or programs understands messages after a bad line."""

import pytest

from conformance.selftest.driving import BRIEF, SIMULATOR, Place

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
    done = place.run("vexide/frontend", *BRIEF, "-k", TESTS, iut=iut)
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
    done = place.run(SIMULATOR, *BRIEF, "-k", "test_malformed_line and text", iut=iut)
    assert not done.left
    assert done.tests[MALFORMED] == expected
