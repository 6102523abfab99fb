"""No step of the event loop takes long, whatever an IUT or a test sends."""

import signal
import sys

import pytest

from conformance.selftest.driving import SIMULATOR, TIMINGS, Place

MAX_TIME = 0.25  # seconds of processor time; usually 0.05, but some machines are slow
LINE = '{"Log": {"level": "Warn", "message": "x"}}'
MEASURED = f"""
import asyncio.events, sys, time
run = asyncio.events.Handle._run
def measured(handle):
    began = time.thread_time()
    run(handle)
    if (took := time.thread_time() - began) > {MAX_TIME}:
        print("SLOW", took, handle, file=sys.stderr)
asyncio.events.Handle._run = measured
from conformance import cli
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "flood",
    [
        f"data = b'{LINE}\\n' * 20000\nwhile True: os.write(1, data)",
        "data = b'{\"a\":' * 100000 + b'1' + b'}' * 100000\n"
        "os.write(1, data * 3); sys.stdin.read()",
        "data = b'(' * 100000 + b')' * 100000\nos.write(1, data * 3); sys.stdin.read()",
    ],
    ids=["lines", "nested objects", "nested lists"],
)
def test_a_flood_before_the_first_answer(place: Place, flood: str) -> None:
    iut = place.simulator(flood)
    words = ["run", SIMULATOR, *TIMINGS, "--report", "conformance-report", "--", *iut]
    done = place.execute([sys.executable, "-c", MEASURED, *words])
    assert done.code in (1, 3)
    assert "SLOW" not in done.err
    assert not done.left


def test_an_interrupt_during_a_flood(place: Place) -> None:
    started = place.folder / "started"
    iut = place.simulator(
        f"data = b'{LINE}\\n' * 20000\nos.write(1, data)\nopen({str(started)!r}, 'w')\n"
        "while True: os.write(1, data)"
    )
    words = ["run", SIMULATOR, "--report", "conformance-report", "--", *iut]
    command = [sys.executable, "-m", "conformance", *words]
    done = place.execute(command, until=started, ended_by=signal.SIGINT)
    assert done.code in (1, 3, 130)
    assert not done.left


@pytest.mark.parametrize(
    ("role", "tests"),
    [
        ("runtime/rpc-server", "test_values or bytes"),
        ("simspark/server", "does_not_read"),
        ("vexide/simulator", "long_lines"),
    ],
)
def test_the_largest_messages_of_a_run(place: Place, role: str, tests: str) -> None:
    words = ["run", role, "--mock", "-k", tests, "--report", "conformance-report"]
    done = place.execute([sys.executable, "-c", MEASURED, *words])
    assert done.code == 0
    assert "SLOW" not in done.err
