"""Misbehaving IUTs: each gets a correct verdict, and no process or file remains."""

import json
import sys
from pathlib import Path

import pytest

from conformance.selftest.driving import ONE_TEST, SIMULATOR, TIMINGS, Place
from conformance.selftest.ugly import (
    ERROR_TEXT,
    assert_clean,
    failed,
    run_test,
    verdicts,
)

# IUTs that break the protocol at once get one message, and no further test.


def test_dies_of_what_it_is_sent(place: Place) -> None:
    done = run_test(place, f"next(commands()); sys.exit({ERROR_TEXT!r})")
    assert done.code == 1
    assert failed(done) == ["handshake.answered"]
    assert ERROR_TEXT in done.smoke["detail"]


def test_dies_after_the_handshake(place: Place) -> None:
    done = run_test(place, "next(commands()); say(HELLO, SIGNATURE); os.kill(os.getpid(), 11)")
    assert done.code == 1
    assert failed(done) == ["ready.sent"]
    assert "was killed by SIGSEGV" in done.reason("ready.sent")
    assert not verdicts(done)


@pytest.mark.parametrize(
    ("death", "how"),
    [("os.kill(os.getpid(), 11)", "was killed by SIGSEGV"), ("sys.exit(139)", "as after SIGSEGV")],
)
def test_dies_after_its_last_event(place: Place, death: str, how: str) -> None:
    """No requirement is about such a crash, but the headline reports it."""
    told = "next(lines); say(HELLO, SIGNATURE, 'Ready')"
    source = f"lines = commands(); {told}; next(lines); say('Exited'); {death}"
    done = run_test(place, source, "-k", "stream_is_closed")
    assert (done.code, failed(done)) == (0, [])
    assert how in done.report["headline"]


def test_hangs(place: Place) -> None:
    done = run_test(place, f"print({ERROR_TEXT!r}, file=sys.stderr, flush=True)\ntime.sleep(1000)")
    assert done.code == 1
    assert failed(done) == ["handshake.answered"]
    assert "the process still runs" in done.smoke["detail"]
    assert ERROR_TEXT in done.smoke["detail"]
    assert "--timing startup=SECONDS" in done.smoke["detail"]
    assert not verdicts(done)


def test_noise(place: Place) -> None:
    done = run_test(place, 'while True: print("loading world", flush=True); time.sleep(0.05)')
    assert done.code == 1
    assert failed(done) == ["framing.json-lines"]
    assert "loading world" in done.smoke["detail"]
    assert not verdicts(done)


def test_banner(place: Place) -> None:
    """A banner violates its own requirement; other tests can still run."""
    done = run_test(place, 'print("Simulator 1.0", flush=True)\nserve()')
    assert done.code == 1
    assert failed(done) == ["framing.json-lines"]
    assert verdicts(done) == {"handshake::answered_once": "pass"}


@pytest.mark.parametrize("behind", ["", "print(json.dumps('Ready'), end='', flush=True)"])
def test_ends_no_line(place: Place, behind: str) -> None:
    """A message without its newline is reported as such, not as silence."""
    reply = "next(commands()); print(json.dumps(HELLO), end='', flush=True)"
    done = run_test(place, f"{reply}\n{behind}\ntime.sleep(1000)")
    assert done.code == 1
    assert failed(done) == ["framing.json-lines"]
    assert "complete, but without its terminator" in done.smoke["detail"]
    assert done.report["causes"][0]["event"] is not None


@pytest.mark.parametrize("reply", ["b'> '", "bytes(1 << 20)"], ids=["prompt", "much"])
def test_begins_no_line(place: Place, reply: str) -> None:
    """Bytes that begin no message are reported as such, not as silence, for any amount."""
    done = run_test(place, f"os.write(1, {reply}); time.sleep(1000)")
    assert done.code == 1
    assert failed(done) == ["framing.json-lines"]
    assert "which begins no message" in done.smoke["detail"]
    assert not verdicts(done)


@pytest.mark.parametrize("moment", ["", "next(commands()); say(HELLO)\n"], ids=["at-once", "later"])
def test_closes_its_output(place: Place, moment: str) -> None:
    done = run_test(place, f"{moment}os.close(1); time.sleep(1000)")
    assert done.code == 1
    assert failed(done) == ["ready.sent" if moment else "handshake.answered"]
    assert "the end of the stream; the process still runs" in done.smoke["detail"]
    assert not verdicts(done)
    # The expectation comes first, then the received bytes.
    assert done.smoke["detail"].startswith("expected ")
    assert not moment or "the first bytes that came: " in done.smoke["detail"]


def test_plays_the_other_role(place: Place) -> None:
    mode = {"enabled": True, "connected": True, "mode": "Driver", "is_competition": False}
    done = run_test(
        place,
        "say(HELLO); next(commands())\n"
        f'say({{"CompetitionMode": {mode!r}}}, "StartExecution"); time.sleep(1000)',
    )
    assert done.code == 1
    assert "roles.own-messages" in failed(done)
    assert "test it as vexide/frontend" in done.smoke["detail"]
    assert not verdicts(done)


def test_plays_the_other_role_in_silence(place: Place) -> None:
    """A simulator started as a frontend waits for ever, like the suite's own simulator."""
    iut = place.program("import sys, subprocess\nsubprocess.run([sys.argv[1]])")
    done = place.run("vexide/frontend", *TIMINGS, iut=[*iut, "{simulator}"])
    assert_clean(done)
    assert done.code == 1
    assert failed(done) == ["handshake.frontend-begins"]
    assert not verdicts(done)


def test_connects_and_says_nothing(place: Place) -> None:
    """An IUT that has connected has taken part, even if it sends nothing and leaves."""
    iut = place.program(
        "import socket, sys, time\n"
        "peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
        "time.sleep(0.5)"
    )
    done = place.run("vexide/frontend", *TIMINGS, iut=[*iut, "{host}", "{port}"])
    assert_clean(done)
    assert done.code == 1
    assert failed(done) == ["handshake.frontend-begins"]
    assert not verdicts(done)


# Floods


@pytest.mark.parametrize(
    "flood",
    ['os.execvp("yes", ["yes"])', "while True: os.write(1, bytes(65536))"],
    ids=["lines", "one-line"],
)
def test_floods_its_output(place: Place, flood: str) -> None:
    done = run_test(place, flood)
    assert done.code == 1
    assert failed(done) == ["framing.json-lines"]
    assert not verdicts(done)


def test_floods_after_the_handshake(place: Place) -> None:
    """Tests that drown in endless well-formed messages decide nothing."""
    log = {"Log": {"level": "Info", "message": "x" * 1000}}
    done = run_test(
        place,
        f"next(commands()); say(HELLO, SIGNATURE, 'Ready')\nwhile True: say(*[{log!r}] * 1000)",
    )
    assert done.code in (0, 3)


def test_floods_its_stderr(place: Place) -> None:
    """Megabytes on stderr are no violation, and are not kept."""
    done = place.run(
        SIMULATOR,
        *ONE_TEST,
        iut=place.simulator("data = bytes(65536)\nfor _ in range(512): os.write(2, data)\nserve()"),
    )
    assert_clean(done)
    assert done.code == 0


def test_shows_nothing_of_its_program(place: Place) -> None:
    """An exit at the end of input does not show that a command was read."""
    source = "next(commands()); say(HELLO, SIGNATURE, 'Ready')\nfor _ in commands(): pass"
    done = run_test(place, source, "--requirement", "commands.undefined-tolerated")
    assert done.code == 3
    assert done.verdict("commands.undefined-tolerated") == "not-exercised"


def test_reads_nothing(place: Place) -> None:
    """An IUT sends its messages without reading; the suite must not wait for ever."""
    done = run_test(
        place,
        "time.sleep(0.5); say(HELLO, SIGNATURE, 'Ready')\n"
        "time.sleep(0.5); say('Exited'); time.sleep(1000)",
        *("-k", "test_long_lines", "--max-wait", "1"),
    )
    assert done.code == 0  # the requirement has level should
    assert done.verdict("framing.long-lines") == "warn"
    assert "were still not read after 1 s" in done.reason("framing.long-lines")


def test_reads_slowly(place: Place) -> None:
    """A slow reader of a long line gets no fail, because it might finish later."""
    done = run_test(
        place,
        "say(HELLO, SIGNATURE, 'Ready', 'Exited')\n"
        "import os\nwhile os.read(0, 1000): time.sleep(0.1)",
        *("-k", "test_long_lines", "--max-wait", "1"),
    )
    assert done.verdict("framing.long-lines") == "inconclusive"
    assert "the IUT reads slowly" in done.reason("framing.long-lines")


def test_reads_nothing_more(place: Place) -> None:
    """The reason for a missing effect says that the IUT has not read the command."""
    source = "next(commands()); say(HELLO, SIGNATURE, 'Ready'); time.sleep(1000)"
    place.file("conformance.toml", f'[iut]\nrole = "{SIMULATOR}"\n[programs]\nprint = "any"\n')
    iut = [*place.simulator(source), "{program}"]
    done = place.run(SIMULATOR, *TIMINGS, "-k", "test_start_without_setup", iut=iut)
    assert_clean(done)
    assert failed(done) == ["start.begins-execution"]
    assert "the IUT has not read 17 bytes that the suite sent" in done.reason(
        "start.begins-execution"
    )


# Leftovers


@pytest.mark.parametrize(
    "offspring",
    [
        '["sleep", "1000"]',
        '["setsid", "sleep", "1000"]',
        '["sh", "-c", "trap \'\' TERM; sleep 1000"]',
    ],
    ids=["child", "session-of-its-own", "deaf-child"],
)
def test_leaves_a_child_behind(place: Place, offspring: str) -> None:
    done = run_test(place, f"subprocess.Popen({offspring})\nserve()")
    assert done.code == 0
    assert verdicts(done) == {"handshake::answered_once": "pass"}


def test_ignores_every_plea_to_end(place: Place) -> None:
    done = run_test(
        place, "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve()\nwhile True: time.sleep(1)"
    )
    assert done.code == 0


def test_is_left_by_a_run_that_is_ended(place: Place) -> None:
    """After SIGTERM to the suite, no process of the IUT is left."""
    started = place.folder / "started"
    iut = place.simulator(
        f"signal.signal(signal.SIGTERM, signal.SIG_IGN); subprocess.Popen(['sleep', '1000'])\n"
        f"next(commands()); open({str(started)!r}, 'x'); time.sleep(1000)"
    )
    words = [sys.executable, "-m", "conformance", "run", SIMULATOR, "--", *iut]
    done = place.execute(words, until=started)
    assert done.code == 130
    assert done.report["exit_code"] == 130
    assert done.out.startswith("INTERRUPTED  ")
    assert "Traceback" not in done.err
    assert not done.left
    assert not done.litter


# Texts


def test_says_what_a_browser_would_run(place: Place) -> None:
    script = "</script><script>alert(1)</script>\x1b[31m\x00\u202e"
    log = {"Log": {"level": script, "message": script}}
    done = run_test(
        place,
        f"next(commands()); say(HELLO, SIGNATURE, {log!r}, 'Ready')\n"
        f"print({script!r}, file=sys.stderr, flush=True); print({script!r})",
    )
    assert done.code == 1
    assert "<script>alert" not in done.text("index.html")
    assert "\x1b" not in done.out
    assert "\x00" not in done.out + done.text("junit.xml")


@pytest.mark.parametrize("opened", ["[", '{"a":'])
def test_nests_ten_thousand_levels_deep(place: Place, opened: str) -> None:
    closed = {"[": "]", '{"a":': "1}"}[opened].replace("1}", "}")
    inner = "1" if opened != "[" else ""
    text = f"{opened!r} * 10000 + {inner!r} + {closed!r} * 10000"
    done = run_test(
        place, f"next(commands()); print({text}, flush=True); say(HELLO, SIGNATURE, 'Ready')"
    )
    assert done.code == 1
    assert failed(done) == ["encoding.externally-tagged"]
    assert "levels deep" in done.reason("encoding.externally-tagged")


# Crashes


def test_dies_in_one_test_only(place: Place) -> None:
    """A crash affects only its own test, and the verdict describes the exit."""
    done = run_test(
        place,
        "import threading\n"
        "for command in commands():\n"
        "    if 'Handshake' in command:\n"
        "        say(HELLO, SIGNATURE)\n"
        "        threading.Timer(0.3, say, ['Ready']).start()\n"
        "    if '{\"Smart\": 13}' in json.dumps(command):\n"
        f"        print({ERROR_TEXT!r}, file=sys.stderr, flush=True); os._exit(1)\n",
        *("-k", "answered_once or setup_before_ready or silent_before_handshake"),
    )
    assert verdicts(done) == {
        "handshake::answered_once": "pass",
        "handshake::silent_before_handshake": "pass",
        "setup::setup_before_ready": "fail",
    }
    assert ERROR_TEXT in done.reason("setup.commands-handled")


def test_transcript_is_kept(place: Place) -> None:
    """The transcript shows all messages, and how the process exited."""
    done = run_test(place, "next(commands()); say(HELLO); sys.exit(7)")
    [smoke] = done.report["tests"]
    lines = [json.loads(line) for line in done.text(smoke["transcript"]).splitlines()]
    assert [line.get("message") for line in lines[2:4]] == ["Handshake", "Handshake"]
    assert lines[-1]["how"] == "exited with code 7"
    assert Path(done.folder / "index.html").stat().st_size > 10_000
