"""Every mistake in a command line gets one clear line and exit code 2."""

import json
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.cli import main
from conformance.selftest.driving import SIMULATOR, Place

NOT_EXECUTABLE = __file__
IUT = [sys.executable, "-c", "pass"]
TOML = f'[iut]\nrole = "vexide/simulator"\ncommand = {json.dumps(IUT)}\n'


@pytest.fixture
def complaint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Return a function that runs a command in this process and returns its one line."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*words: str) -> str:
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        output = capsys.readouterr()
        assert code == 2
        assert not output.out
        assert output.err.startswith("conformance")
        assert output.err.count("\n") == 1
        return output.err

    return run


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rum"], "invalid choice: 'rum'"),
        (["run", "vexide/simulater"], "did you mean vexide/simulator?"),
        (["run", "vexid/simulator"], "did you mean vexide?"),
        (["run", "simulator"], "unknown protocol 'simulator'"),
        (["run"], "say which role to test (PROTOCOL/ROLE)"),
        (
            ["run", SIMULATOR],
            "name the implementation of vexide/simulator: its command, as in `-- ./my-sim",
        ),
        (
            ["run", "vexide/frontend"],
            "--listen ADDR for a program that you start by hand, or --mock",
        ),
        (["run", SIMULATOR, "--mock", "--", *IUT], "--mock works with the reference mock"),
        (["run", SIMULATOR, "--mock", "--connect", "h:1"], "--mock works with the reference mock"),
        (["run", "--", *IUT], "say which role to test (PROTOCOL/ROLE)"),
        (["run", SIMULATOR, "--sed", "1"], "unrecognized arguments: --sed"),
        (["run", SIMULATOR, "--seed", "x"], "argument --seed: invalid int value: 'x'"),
        (["run", SIMULATOR, "--examples", "0"], "'0' is not a positive number"),
        (["run", SIMULATOR, "--examples", "many"], "'many' is not a positive number"),
        (["run", SIMULATOR, "-n", "some"], "'some' is not a positive number"),
        (["run", SIMULATOR, "--mock", "--max-wait", "-1"], "expected a number of seconds above 0"),
        (["run", SIMULATOR, "--mock", "--max-time", "0"], "expected a number of seconds above 0"),
        (["run", SIMULATOR, "--mock", "--requirement", "ready.snt"], "did you mean ready.sent"),
        (["run", SIMULATOR, "--mock", "--timing", "respons=1"], "did you mean response?"),
        (["run", SIMULATOR, "--mock", "--timing", "response"], "expected NAME=VALUE"),
        (["run", SIMULATOR, "--mock", "--timing", "response=soon"], "expected seconds"),
        (["run", SIMULATOR, "--mock", "--timing", "response=0"], "expected more than 0 seconds"),
        (
            ["run", SIMULATOR, "--mock", "--timing", "response=inf"],
            "expected a number of seconds above 0",
        ),
        (["run", SIMULATOR, "--mock", "--hook", "touch=x"], "unknown hook 'touch'"),
        (["run", SIMULATOR, "--mock", "--set", "programs.prnt=x"], "did you mean print?"),
        (["run", SIMULATOR, "--mock", "--set", "port=bare"], "did you mean ports?"),
        (["run", SIMULATOR, "--mock", "--set", "ports=naked"], "expected auto or tagged or bare"),
        (["run", SIMULATOR, "--fault", "ready-twic"], "did you mean ready-twice"),
        (["run", SIMULATOR, "--fault", "ready-twice", "--", *IUT], "works with the reference mock"),
        (["run", SIMULATOR, "--connect", "nonsense"], "is not an address: expected HOST:PORT"),
        (["run", SIMULATOR, "--connect", "h:1", "--listen", "h:2"], "give connect or listen"),
        (["run", SIMULATOR, "--listen", "127.0.0.1:0"], "use --connect, not --listen"),
        (["run", "vexide/frontend", "--connect", "h:1"], "use --listen, not --connect"),
        (["run", "simspark/server", "--connect", "h:1"], "--connect AGENT_ADDR,MONITOR_ADDR"),
        (["run", SIMULATOR, "--connect", "h:1,h:2"], "needs 1 address, --connect ADDR"),
        (["run", SIMULATOR, "--mock", "--requirement", "redy.*"], "unknown requirement of vexide"),
        (["run", SIMULATOR, "--mock", "--shard", "4/3"], "such as 1/3; received '4/3'"),
        (["run", SIMULATOR, "--mock", "--baseline", "absent.json"], "absent.json: No such file"),
        (["run", SIMULATOR, "--connect", "h:1", "--watch"], "no file to watch"),
        (["run", "vexide/frontend", "--hook", "touch='", "--", "x"], "No closing quotation"),
        (["run", SIMULATOR, "--", "./nothing-here"], "was not found, or is not executable"),
        (["run", SIMULATOR, "--", "nothing-of-this-name"], "was not found, or is not executable"),
        (["run", SIMULATOR, "--", NOT_EXECUTABLE], "a file without its execute bit: chmod +x"),
        (["run", SIMULATOR, "--", "true", "{prot}"], "did you mean port?"),
        (["run", SIMULATOR, "--", "true", "--port={agent_port}"], "unknown placeholder of vexide"),
        (["run", "deltarobot/server", "--", "true", "{prot}"], "did you mean port?"),
        (["run", SIMULATOR, "./mine", "{port}"], "after --, as in: -- ./mine '{port}'"),
        (["run", SIMULATOR, "./mine", "--", "true"], "unrecognized arguments: ./mine"),
        (["run", SIMULATOR, "--protocols", "nowhere"], "expected a folder that contains schemas"),
        (["run", SIMULATOR, "--protocols"], "expected one argument"),
        (["run", "--config", "absent.toml"], "absent.toml: No such file or directory"),
        (["run", "--config", "/"], "Is a directory"),
        (["run", SIMULATOR, "--report", __file__, "--", *IUT], "File exists"),
        (["show", "absent.jsonl"], "absent.jsonl: No such file or directory"),
        (["check", __file__], "not JSON"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_word(complaint: Any, words: list[str], expected: str) -> None:
    assert expected in complaint(*words)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[iut", "not TOML"),
        (b"\xff\xfe\x00", "not TOML"),
        ("", 'expected the member "iut"'),
        ("[iut]\n", 'iut: expected the member "role"'),
        ('[iut]\nrole = "vexide/simulatr"\ncommand = "true"', "did you mean vexide/simulator?"),
        ('[iut]\nrole = "vexide/simulator"', "no way to reach the IUT is given"),
        (
            '[iut]\nrole = "vexide/simulator"\ncommand = 7',
            "iut.command: expected a string or an array; received 7",
        ),
        ('[iut]\nrole = "vexide/simulator"\ncommand = "a \'b"', "No closing quotation"),
        ('[iut]\nrole = "vexide/simulator"\ncommand = "true"\ncwd = "x"', "does not exist"),
        (TOML + 'color = "red"', 'iut: expected no member "color"'),
        (TOML + "[timing]\nstartup = 'soon'", 'timing.startup: expected a number; received "soon"'),
        (TOML + "[timing]\nstartup = nan", "timing.startup: expected more than 0"),
        (TOML + "[programs]\nprnt = 'x'", "did you mean print?"),
        (TOML + "[unsupported]\n'log-storag' = 'x'", "did you mean log-storage?"),
        (TOML + "[unsupported]\n'ready.sent' = 'x'", "unknown optional feature"),
        (TOML + "[known-failures]\n'ready.snt' = 'x'", "did you mean ready.sent"),
        (
            TOML + "[known-failures]\n'ready.sent' = {reason = 'x', until = 'soon'}",
            "expected a date such as",
        ),
    ],
)
def test_wrong_configuration(
    complaint: Any, tmp_path: Path, content: str | bytes, expected: str
) -> None:
    file = tmp_path / "conformance.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert expected in complaint("run")
    assert expected in complaint("run", "--config", str(file))


def test_configuration_of_another_role(complaint: Any, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(TOML)
    assert "not for vexide/frontend" in complaint("run", "vexide/frontend", "--config", "x.toml")
    (tmp_path / "x.toml").rename(tmp_path / "conformance.toml")
    assert "(./conformance.toml is for vexide/simulator)" in complaint("run", "vexide/frontend")


def test_broken_protocol(place: Place) -> None:
    folder = place.folder / "schemas" / "broken"
    folder.mkdir(parents=True)
    (folder / "protocol.yaml").write_text("title: x\nroles: [")
    done = place.run("broken/server", "--protocols", str(place.folder))
    assert done.code == 2
    assert "Traceback" not in done.err
    assert str(folder) in done.err


def test_address_in_use(place: Place) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = place.run("vexide/frontend", "--listen", address)
    assert done.code == 2
    assert f"cannot listen at {address}: Address already in use" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("given", ["x", "1", "1:x", "-1:1", "1:-1", "1:inf", "1:nan", ":"])
def test_a_wrong_stall(complaint: Any, given: str) -> None:
    assert "expected BYTES:SECONDS" in complaint("proxy", "vexide", f"--stall={given}")


def test_a_proxy_whose_input_is_no_stream(place: Place) -> None:
    """The event loop cannot wait for such an input."""
    done = place.conformance("proxy", "vexide", "--", *IUT)
    assert done.code == 2
    assert "expected a pipe or a socket as standard input" in done.err


def test_a_configuration_without_an_iut_completes_a_command(place: Place) -> None:
    file = place.file("only.toml", "[timing]\nresponse = 0.5\nstartup = 2\nprogram = 1\n")
    words = (SIMULATOR, "--config", file, "-k", "answered_once")
    assert place.run(*words, iut=place.simulator()).code == 0
    done = place.conformance("run", "--config", file, "--", *IUT)
    assert (done.code, 'expected the member "iut"' in done.err) == (2, True)
