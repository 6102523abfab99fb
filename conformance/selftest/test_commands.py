"""The commands list, show, check, replay, init and prove, as a user types them."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance import cli, configuration
from conformance.commands import init
from conformance.configuration import Configuration
from conformance.definitions import locations, protocols
from conformance.judging import recordings
from conformance.reporting.text import make_visible

GOLDEN = locations.folder("captures", "vexide") or Path()
SIMULATOR = "vexide/simulator"
README = Path(__file__).parents[2] / "README.md"
HELLO = '{"Handshake":{"version":1,"extensions":[]}}\n'


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, so that no conformance.toml is found."""
    monkeypatch.chdir(tmp_path)


def conformance(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "conformance", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def capture(path: Path, *events: dict[str, Any], **header: Any) -> Path:
    """Write a capture file."""
    fixed = {"capture": 1, "protocol": "vexide", "title": "test", "origin": "recorded"}
    lines = [{**fixed, **header}, *({"at": 0.1, **event} for event in events)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def sent(text: str, sender: str = "simulator", **more: Any) -> dict[str, Any]:
    return {"from": sender, "text": text, **more}


# list


def test_list_names_every_role(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["list"]) == 0
    out = capsys.readouterr().out
    for name in protocols.names():
        assert all(str(role) in out for role in protocols.load(name).roles.values())


@pytest.mark.parametrize("width", ["60", "200"])
def test_list_fits_the_terminal(
    width: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert cli.main(["list", SIMULATOR, "--requirements"]) == 0
    lines = capsys.readouterr().out.splitlines()
    bound = protocols.load("vexide").requirements_for(protocols.role(SIMULATOR))
    assert [line.split()[0] for line in lines] == [requirement.id for requirement in bound]
    assert all(len(line) <= max(int(width), 80) for line in lines)


def test_list_names_the_settings_of_a_role(capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting is listed with its section and its default."""
    assert cli.main(["list", "vexide/frontend", "--settings"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["[hooks]", "screen"] in [row[:2] for row in rows]
    assert ["[ixit]", "ports", "auto"] in [row[:3] for row in rows]
    assert ["[timing]", "held"] in [row[:2] for row in rows]
    assert ["[unsupported]", "log-storage"] in [row[:2] for row in rows]


def test_list_tests_and_faults() -> None:
    done = conformance("list", SIMULATOR, "--tests", "--faults")
    assert done.returncode == 0, done.stderr
    assert "handshake::answered " in done.stdout
    assert "ready-twice " in done.stdout
    assert "Requirements" not in done.stdout


def test_list_may_be_cut_off() -> None:
    listing = f"{sys.executable} -m conformance list {SIMULATOR} --requirements --faults"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{listing} | head -n 1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.count("\n"), done.stderr, done.returncode) == (1, "", 0)


@pytest.mark.parametrize(
    "words",
    [
        ["list", "vexid"],
        ["list", "vexide/simulater"],
        ["list", "vexide", "--tests"],
        ["show", "nothing.jsonl"],
        ["check", str(GOLDEN)],
        ["check", str(GOLDEN / "session-full.jsonl"), "--role", "robot"],
        ["replay", str(GOLDEN / "session-minimal.jsonl")],
        ["replay", str(GOLDEN / "violation-ready-twice.jsonl")],
        ["replay", str(GOLDEN / "event-log.jsonl"), "--role", "simulator"],
        ["replay", str(GOLDEN / "violation-ready-twice.jsonl"), "--role", "frontend"],
        ["replay", str(GOLDEN / "violation-ready-twice.jsonl"), "--", "no-such-program"],
        ["replay", str(GOLDEN / "violation-ready-twice.jsonl"), "--fault", "x", "--", "true"],
        ["init", "vexide/robot"],
        ["prove", "vexide/robot"],
        ["prove", SIMULATOR, "--fault", "ready-thrice"],
        ["prove", SIMULATOR, "-j", "0"],
    ],
    ids=lambda words: " ".join(Path(word).name for word in words),
)
def test_wrong_words_get_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("conformance: ")
    assert output.err.count("\n") == 1


# show


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.jsonl")), ids=lambda path: path.stem)
def test_show_every_golden_capture(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["show", str(path), "--bytes"]) == 0
    out = capsys.readouterr().out
    assert out == make_visible(out, limit=len(out))
    assert out.count("✗ ") == len(recordings.read(path).findings)


def test_show_is_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\u202e\x00"
    path = capture(
        tmp_path / "evil.jsonl",
        sent(json.dumps(evil, ensure_ascii=False) + "\n", message=evil, value=evil),
        {"from": "simulator", "event": evil, "how": evil},
        title=evil,
        requirements=[evil],
        origin=evil,
    )
    assert cli.main(["show", str(path)]) == 0
    out = capsys.readouterr().out
    assert out == make_visible(out, limit=len(out))


# check


def test_check_golden_captures(capsys: pytest.CaptureFixture[str]) -> None:
    sound = [str(path) for path in GOLDEN.glob("*.jsonl") if not path.stem.startswith("violation")]
    assert cli.main(["check", "--strict", *sound]) == 0
    simulator, frontend, summary = capsys.readouterr().out.splitlines()
    assert simulator.startswith("shown: simulator 16 of 16 messages, ")
    assert frontend.startswith("shown: frontend 11 of 11 messages, ")
    assert summary.startswith(f"{len(sound)} captures, ")
    assert summary.endswith(", 0 findings")


def test_check_names_file_line_and_requirement(capsys: pytest.CaptureFixture[str]) -> None:
    path = GOLDEN / "violation-ready-twice.jsonl"
    assert cli.main(["check", str(path), "--strict"]) == 1
    line, *shown, summary = capsys.readouterr().out.splitlines()
    assert line == f"{path}:7: ready.once (should): Ready came again"
    sides = ["shown: simulator", "shown: frontend"]
    assert [" ".join(side.split()[:2]) for side in shown] == sides
    assert summary == "1 capture, 5 messages judged, 1 finding (1 should)"
    assert cli.main(["check", str(path), "--role", "frontend"]) == 0


def test_check_strict(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GOLDEN / "violation-motor-flags.jsonl")
    assert cli.main(["check", path]) == 0
    assert cli.main(["check", path, "--strict"]) == 1


def test_check_compares_values_with_bytes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"Battery": {"voltage": 12.0, "current": 0.0, "capacity": 14.0}}
    text = json.dumps(value) + "\n"
    path = capture(
        tmp_path / "c.jsonl",
        sent(text, message="Battery", value=value),
        sent(text, message="Ready", value="Ready"),
        sent(text.replace("12.0", "12"), message="Battery", value=value),
        sent(text + text, message="Battery", value=value),
        fragment=True,
    )
    assert cli.main(["check", str(path)]) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(f"{path}:")]
    assert [line.removeprefix(f"{path}:")[:11] for line in lines] == [
        "3: capture:",
        "4: capture:",
        "5: capture:",
    ]


def test_check_what_the_stream_ended_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = capture(
        tmp_path / "c.jsonl",
        sent(HELLO, "frontend"),
        sent(HELLO),
        sent('"Rea'),
        {"from": "simulator", "event": "closed"},
        iut="simulator",
    )
    assert cli.main(["check", str(path)]) == 1
    assert f"{path}:4: framing.json-lines (must): " in capsys.readouterr().out


def test_check_without_a_message(tmp_path: Path) -> None:
    silent = capture(tmp_path / "c.jsonl", sent(HELLO, "frontend"), iut="simulator")
    assert cli.main(["check", str(silent)]) == 3


@pytest.mark.parametrize(
    "line",
    [
        '{"at": 1, "from": "robot", "text": ""}',
        '{"at": 1, "from": ["simulator"], "text": ""}',
        '{"at": 1, "from": "simulator", "text": 1}',
        '{"at": 1, "from": "simulator", "text": "", "message": {}}',
    ],
)
def test_check_of_a_broken_capture(
    line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = capture(tmp_path / "c.jsonl")
    path.write_text(f"{path.read_text()}\n{line}\n")
    assert cli.main(["check", str(path)]) == 2
    assert capsys.readouterr().err.startswith(f"conformance: {path}:3: ")


# replay


@pytest.mark.parametrize("name", ["session-minimal", "session-incompatible", "session-segmented"])
def test_replay_against_the_mock(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", str(GOLDEN / f"{name}.jsonl"), "--role", SIMULATOR, "--mock"]
    assert cli.main(words) == 0
    out = capsys.readouterr().out
    assert "pass: " in out
    # Writes that were split in the capture are split in the replay.
    assert (" 1 byte " in out) == (name == "session-segmented")


def test_replay_finds_the_fault_again(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GOLDEN / "violation-ready-twice.jsonl")
    assert cli.main(["replay", path, "--mock", "--timing", "response=0.3"]) == 0
    assert cli.main(["replay", path, "--fault", "ready-twice", "--strict"]) == 1
    assert "warn: ready.once: Ready came again" in capsys.readouterr().out


def test_replay_says_what_did_not_come(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(GOLDEN / "session-minimal.jsonl")
    code = "import sys; print(sys.stdin.readline(), end='', flush=True); sys.stdin.read()"
    quick = ["--timing", "response=0.1", "--timing", "startup=1"]
    words = ["replay", path, "--role", "simulator", *quick, "--", sys.executable, "-c", code]
    assert cli.main(words) == 1
    assert "fail: expected Ready as in the capture" in capsys.readouterr().out


def test_replay_without_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["replay", str(GOLDEN / "session-minimal.jsonl"), "--role", "simulator"]
    words += ["--timing", "startup=0.5"]
    assert cli.main([*words, "--connect", "127.0.0.1:1"]) == 3
    assert "inconclusive: nothing accepts at 127.0.0.1:1" in capsys.readouterr().out


def test_replay_a_counterexample_that_no_oracle_sees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An IUT stops serving: the same end has the same verdict, another has none."""
    path = capture(
        tmp_path / "c.jsonl",
        sent(HELLO, "frontend"),
        sent(HELLO),
        sent('"nonsense"\n', "frontend"),
        origin="counterexample",
        iut="simulator",
        requirements=["robustness.unknown-message"],
        expected="the program to run",
        came="the simulator hangs",
    )
    quick = ["--timing", "response=0.2", "--timing", "program=0.4"]
    code = "import sys; print(sys.stdin.readline(), end='', flush=True); sys.stdin.read()"
    hangs = ["--strict", *quick, "--", sys.executable, "-c", code]
    assert cli.main(["replay", str(path), *hangs]) == 1
    out = capsys.readouterr().out
    assert "warn: robustness.unknown-message: expected the program to run" in out
    assert cli.main(["replay", str(path), "--strict", "--mock"]) == 0


# init


@pytest.mark.parametrize("role", protocols.roles())
def test_init_writes_what_can_be_loaded(role: str, tmp_path: Path) -> None:
    path = tmp_path / "conformance.toml"
    assert cli.main(["init", role]) == 0
    loaded = configuration.check_configuration(configuration.load(path))
    assert (str(loaded.role), loaded.cwd) == (role, str(tmp_path))
    before = path.read_bytes()
    assert cli.main(["init", role, "--output", str(path)]) == 2
    assert path.read_bytes() == before


def test_init_holds_when_every_comment_is_taken_away(tmp_path: Path) -> None:
    """Every commented entry is valid, so a user can uncomment any of them."""
    path = tmp_path / "conformance.toml"
    assert cli.main(["init", "vexide/frontend"]) == 0
    lines = path.read_text(encoding="utf-8").splitlines()
    entries = [line.removeprefix("# ") for line in lines]
    kept = [line for line in entries if re.match(r"\[[\w-]+\]$|(?!listen)[\w-]+ = ", line)]
    path.write_text("\n".join(kept), encoding="utf-8")
    loaded: Configuration = configuration.check_configuration(configuration.load(path))
    assert set(loaded.hooks) == set(protocols.role("vexide/frontend").hooks)
    assert loaded.ixit == {"ports": "auto"}
    assert loaded.seconds("startup") == 10


def test_the_adapter_of_readme_and_init_runs(tmp_path: Path) -> None:
    """With operations filled in, the adapter is a log publisher that passes."""
    assert f"```python\n{init.ADAPTER}```" in README.read_text(encoding="utf-8")
    assert cli.main(["init", "runtime/log-publisher"]) == 0
    shown = (tmp_path / "conformance.toml").read_text(encoding="utf-8").splitlines()
    assert all(f"#     {line}".rstrip() in shown for line in init.ADAPTER.splitlines())
    program = tmp_path / "publisher.py"
    publishing = """
import datetime, msgpack, socket

wire = socket.create_connection((sys.argv[1], int(sys.argv[2])))

def log(**message):
    now = datetime.datetime.now().isoformat()
    wire.sendall(msgpack.packb({**message, "timestamp": now}))

OPERATIONS = {"log": log}
"""
    head, loop = init.ADAPTER.split("OPERATIONS", 1)
    program.write_text(head + publishing + loop.partition("\n")[2], encoding="utf-8")
    chosen = ["--requirement", "log.event", "--requirement", "log.level-words"]
    command = [sys.executable, str(program), "{host}", "{port}"]
    done = conformance("run", "runtime/log-publisher", *chosen, "--", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "conformance-report-selection/report.json").read_text())
    verdicts = {entry["id"]: entry["verdict"] for entry in report["requirements"]}
    assert verdicts["log.event"] == verdicts["log.level-words"] == "pass"


# prove


def test_prove_two_faults(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.json"
    chosen = ["--fault", "ready-twice", "--fault", "competition-outlives-session"]
    page = tmp_path / "matrix.html"
    done = conformance("prove", SIMULATOR, *chosen, "--json", matrix, "--page", page)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 faults killed (~ marks 1 subtle); the sound mock was not tried" in done.stdout
    assert "ready-twice" in page.read_text() and "killed" in page.read_text()
    trials = json.loads(matrix.read_text())["trials"]
    assert {trial["name"]: (trial["verdict"], trial["transport"]) for trial in trials} == {
        "ready-twice": ("killed", "stdio"),
        "competition-outlives-session": ("killed", "tcp"),
    }
