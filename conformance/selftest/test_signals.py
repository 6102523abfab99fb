"""Signals end every command in order, even if a shell has made it ignore SIGINT."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.definitions import locations
from conformance.selftest.driving import COMMAND, ONE_TEST, SIMULATOR, TIMINGS, Place

BACKGROUND = ["env", "--ignore-signal=INT"]
"""Starts a program as a shell does for a background job."""
PATIENCE = 30  # seconds in which a command must end, even on a busy machine


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_background_job_ends(by: int) -> None:
    capture = next((locations.folder("captures", "vexide") or Path()).glob("*.jsonl"))
    words = [*BACKGROUND, *COMMAND, "show", str(capture), "--follow"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.readline()
        process.send_signal(by)
        try:
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
        assert process.stderr.read() == b"conformance: interrupted\n"


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGHUP])
def test_a_run_in_the_background_still_reports(place: Place, by: int) -> None:
    started = place.folder / "started"
    silent = place.program(f"open({str(started)!r}, 'w'); import time; time.sleep(300)")
    words = [*BACKGROUND, *COMMAND, "run", SIMULATOR, *TIMINGS, *ONE_TEST]
    words += ["--report", "conformance-report", "--", *silent]
    done = place.execute(words, until=started, ended_by=by)
    assert (done.code, done.report["exit_code"], done.left, done.litter) == (130, 130, [], [])


def test_nohup_survives_the_end_of_its_terminal(place: Place) -> None:
    started = place.folder / "started"
    iut = place.simulator(f"open({str(started)!r}, 'w'); serve()")
    words = ["env", "--ignore-signal=HUP", *COMMAND, "run", SIMULATOR, *TIMINGS, *ONE_TEST]
    words += ["--report", "conformance-report", "--", *iut]
    done = place.execute(words, until=started, ended_by=signal.SIGHUP)
    assert (done.code, done.report["exit_code"]) == (0, 0)


def test_a_signal_while_modules_are_imported(tmp_path: Path) -> None:
    """Each moment of the start is as good as another for a signal."""
    script = (
        "import builtins, os, signal, sys\n"
        "imports, wanted = builtins.__import__, int(sys.argv[1])\n"
        "def counting(name, *rest, **named):\n"
        "    global wanted\n"
        "    wanted -= 1\n"
        "    if wanted == 0: os.kill(os.getpid(), signal.SIGTERM)\n"
        "    return imports(name, *rest, **named)\n"
        "from conformance import cli\n"
        "builtins.__import__ = counting\n"
        f"sys.exit(cli.main(['run', {SIMULATOR!r}, '--mock', *{ONE_TEST!r}]))\n"
    )
    for number in (50, 1500, 4000):
        words = [*BACKGROUND, sys.executable, "-c", script, str(number)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=PATIENCE)
        assert done.returncode == 130, done.stderr


def test_a_signal_while_a_text_is_executed(tmp_path: Path) -> None:
    """The exit code is the same, although Python counts this interrupt as unhandled."""
    script = (
        "import os, signal, sys\n"
        "from conformance import cli\n"
        "def interrupted(words): exec('os.kill(os.getpid(), signal.SIGTERM); input()')\n"
        "cli._command = interrupted\n"
        "sys.exit(cli.main(['list']))\n"
    )
    (tmp_path / "interrupted.py").write_text(script, encoding="utf-8")
    words = [sys.executable, "-m", "interrupted"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, b"conformance: interrupted\n")


def test_a_mock_with_a_usual_address_announces_it_on_its_output() -> None:
    words = [*COMMAND, "mock", "simspark/server"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as mock:
        assert mock.stdout and mock.stderr
        first = mock.stdout.readline()
        mock.terminate()
        # Another program can have these ports.
        assert first.startswith(b"listening on 127.0.0.1:3100") or b"3100" in mock.stderr.read()
