"""What a user types: every wrong word gets one clear line and exit code 2; every option works."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from conformance import captures, locate, protocols
from conformance.cli import main
from conformance.judge import judge_capture
from conformance.selftest.driving import BRIEF, ONE_TEST, PREAMBLE, SIMULATOR, Done, Place

NOT_EXECUTABLE = __file__
IUT = [sys.executable, "-c", "pass"]
TOML = f'[iut]\nrole = "vexide/simulator"\ncommand = {json.dumps(IUT)}\n'


def tests(done: Done) -> dict[str, str]:
    return {test["id"]: test["verdict"] for test in done.report["tests"]}


tests.__test__ = False  # type: ignore[attr-defined]


def complaints(done: Done) -> int:
    """The failures and errors that junit.xml counts."""
    root = ElementTree.fromstring(done.text("junit.xml"))
    return int(root.attrib["failures"]) + int(root.attrib["errors"])


# Wrong words


@pytest.fixture
def complaint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs the command within this process; returns the one line that it has to say."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *_: None)

    def run(*words: str) -> str:
        try:
            code = main(words)
        except SystemExit as ended:
            code = int(ended.code or 0)
        said = capsys.readouterr()
        assert code == 2
        assert not said.out
        assert said.err.startswith("conformance")
        assert said.err.count("\n") == 1
        return said.err

    return run


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["rum"], "invalid choice: 'rum'"),
        (["run", "vexide/simulater"], "did you mean vexide/simulator?"),
        (["run", "vexid/simulator"], "did you mean vexide?"),
        (["run", "simulator"], "unknown protocol 'simulator'"),
        (["run"], "say which role to test (PROTOCOL/ROLE)"),
        (["run", SIMULATOR], "say what plays vexide/simulator: its command, as in `-- ./my-sim"),
        (["run", "vexide/frontend"], "--listen ADDR for one that is started by hand, or --mock"),
        (["run", SIMULATOR, "--mock", "--", *IUT], "--mock is for the reference mock"),
        (["run", SIMULATOR, "--mock", "--connect", "h:1"], "--mock is for the reference mock"),
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
        (["run", SIMULATOR, "--mock", "--set", "ports=naked"], "it can be auto or tagged or bare"),
        (["run", SIMULATOR, "--fault", "ready-twic"], "did you mean ready-twice"),
        (["run", SIMULATOR, "--fault", "ready-twice", "--", *IUT], "for the reference mock"),
        (["run", SIMULATOR, "--connect", "nonsense"], "is not an address: expected HOST:PORT"),
        (["run", SIMULATOR, "--connect", "h:1", "--listen", "h:2"], "not connect and listen"),
        (["run", SIMULATOR, "--listen", "127.0.0.1:0"], "use --connect, not --listen"),
        (["run", "vexide/frontend", "--connect", "h:1"], "use --listen, not --connect"),
        (["run", "simspark/server", "--connect", "h:1"], "--connect AGENT_ADDR,MONITOR_ADDR"),
        (["run", SIMULATOR, "--connect", "h:1,h:2"], "needs 1 address, --connect ADDR"),
        (["run", SIMULATOR, "--mock", "--requirement", "redy.*"], "unknown requirement of vexide"),
        (["run", SIMULATOR, "--mock", "--shard", "4/3"], "'4/3' is not I/N, such as 1/3"),
        (["run", SIMULATOR, "--mock", "--baseline", "absent.json"], "absent.json: No such file"),
        (["run", SIMULATOR, "--connect", "h:1", "--watch"], "no file that could change"),
        (["run", "vexide/frontend", "--hook", "touch='", "--", "x"], "No closing quotation"),
        (["run", SIMULATOR, "--", "./nothing-here"], "was not found, or is not executable"),
        (["run", SIMULATOR, "--", "nothing-of-this-name"], "was not found, or is not executable"),
        (["run", SIMULATOR, "--", NOT_EXECUTABLE], "a file without its execute bit: chmod +x"),
        (["run", SIMULATOR, "--", "true", "{prot}"], "did you mean port?"),
        (["run", SIMULATOR, "--", "true", "--port={agent_port}"], "unknown placeholder of vexide"),
        (["run", SIMULATOR, "./mine", "{port}"], "behind --, as in: -- ./mine '{port}'"),
        (["run", SIMULATOR, "./mine", "--", "true"], "unrecognized arguments: ./mine"),
        (["run", SIMULATOR, "--protocols", "nowhere"], "expected a folder that has schemas"),
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
        ("", "'iut' is a required property"),
        ("[iut]\n", "'role' is a required property"),
        ('[iut]\nrole = "vexide/simulatr"\ncommand = "true"', "did you mean vexide/simulator?"),
        ('[iut]\nrole = "vexide/simulator"', "nothing says how to reach the IUT"),
        ('[iut]\nrole = "vexide/simulator"\ncommand = 7', "iut.command: 7"),
        ('[iut]\nrole = "vexide/simulator"\ncommand = "a \'b"', "No closing quotation"),
        ('[iut]\nrole = "vexide/simulator"\ncommand = "true"\ncwd = "x"', "does not exist"),
        (TOML + 'color = "red"', "'color' was unexpected"),
        (TOML + "[timing]\nstartup = 'soon'", "timing.startup: 'soon' is not of type 'number'"),
        (TOML + "[timing]\nstartup = nan", "expected a number of seconds above 0"),
        (TOML + "[programs]\nprnt = 'x'", "did you mean print?"),
        (TOML + "[unsupported]\n'log-storag' = 'x'", "did you mean log-storage?"),
        (TOML + "[unsupported]\n'ready.sent' = 'x'", "unknown optional feature"),
        (TOML + "[known-failures]\n'ready.snt' = 'x'", "did you mean ready.sent"),
        (
            TOML + "[known-failures]\n'ready.sent' = {reason = 'x', until = 'soon'}",
            "'soon' is not a date of the form",
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


# Selections


def test_selects_nothing(place: Place) -> None:
    done = place.run(SIMULATOR, "-k", "nothing_of_this_name", iut=place.simulator())
    assert done.code == 3
    assert "the selection matches no test" in done.out


def test_selection_of_bad_syntax(place: Place) -> None:
    done = place.run(SIMULATOR, "-k", "and or (", iut=place.simulator())
    assert done.code == 2
    assert "Wrong expression passed to '-k'" in done.err
    assert not done.out
    assert not done.folder.joinpath("report.json").exists()


def test_selects_a_requirement(place: Place) -> None:
    done = place.run(SIMULATOR, *BRIEF, "--requirement", "ready.once", iut=place.simulator())
    assert done.code == 0
    assert tests(done) == {"smoke": "pass", "setup::ready_once": "pass"}


def test_a_selection_leaves_the_whole_report_alone(place: Place) -> None:
    words = ("run", SIMULATOR, *BRIEF, *ONE_TEST, "--", *place.simulator())
    whole = place.folder / "conformance-report" / "report.json"
    whole.parent.mkdir()
    whole.write_text("{}")
    done = place.conformance(*words)
    assert done.code == 0
    assert done.out.startswith("CONFORMANT IN THIS SELECTION  ")
    assert whole.read_text() == "{}"
    beside = place.folder / "conformance-report-selection"
    selection = json.loads((beside / "report.json").read_text())["selection"]
    assert (selection["by"], selection["tests"]) == ("-k 'answered_once'", 1)
    assert selection["of"] > 100
    left = {entry.name for entry in place.folder.iterdir()} - {"iut.py", "out", "err", "tmp"}
    assert left == {"conformance-report", "conformance-report-selection"}


def test_a_selection_of_pytest_leaves_the_whole_report_alone(place: Place) -> None:
    words = ("run", SIMULATOR, *BRIEF, "--", *place.simulator(), "--pytest", "-q", *ONE_TEST)
    assert place.conformance(*words).code == 0
    assert not (place.folder / "conformance-report").exists()
    assert (place.folder / "conformance-report-selection" / "report.json").is_file()


def test_a_run_ends_at_its_limit(place: Place) -> None:
    words = ("--timing", "startup=9", "--timing", "response=9", "-k", "ready_once or text_arrives")
    # The smoke session holds; whoever comes second is never answered.
    silent = place.simulator(
        "first = not os.path.exists('seen'); open('seen', 'w')\n"
        "serve() if first else sys.stdin.read()"
    )
    done = place.run(SIMULATOR, *words, "--max-time", "5", iut=silent)
    assert done.code == done.report["exit_code"] == 3
    assert "the run reached its --max-time of 5 s after 0 tests" in done.report["headline"]
    assert done.reason("serial.bytes-exact") == "the run reached its --max-time before it was tried"
    assert not done.left


def test_selects_requirements_by_a_pattern(place: Place) -> None:
    words = ("--requirement", "ready.*", "--requirement", "signature.sent")
    done = place.run(SIMULATOR, *BRIEF, *words, iut=place.simulator())
    decided = {test["requirement"] for test in done.report["tests"] if test["id"] != "smoke"}
    assert {"ready.once", "ready.sent", "signature.sent"} <= decided
    assert all(name.startswith("ready.") for name in decided - {"signature.sent"})


def test_what_failed_last_time(place: Place) -> None:
    iut = place.simulator(
        "for c in commands():\n    'Handshake' in c and say(HELLO, 'Ready', 'Ready')"
    )
    words = (SIMULATOR, *BRIEF)
    assert "no report of" in place.run(*words, "--failed", iut=iut).err
    first = place.run(*words, "-k", "ready_once or answered_once", iut=iut)
    bad = {test["id"] for test in first.report["tests"] if test["verdict"] in ("fail", "warn")}
    bad |= {f["test"] for f in first.report["findings"]} - {"smoke"}
    assert "setup::ready_once" in bad
    again = place.run(*words, "--failed", iut=iut)
    assert {test["id"] for test in again.report["tests"]} - {"smoke"} == bad
    assert again.report["selection"]["by"] == "--failed"


def test_nothing_may_be_worse_than_before(place: Place) -> None:
    good = place.run(SIMULATOR, *BRIEF, *ONE_TEST, "--report", "before", iut=place.simulator())
    assert good.code == 0
    since = ("--baseline", "before")
    assert place.run(SIMULATOR, *BRIEF, *ONE_TEST, *since, iut=place.simulator()).code == 0
    worse = place.simulator("SIGNATURE['VCodeSig'] = 'AAAA'; serve()")
    done = place.run(SIMULATOR, *BRIEF, *ONE_TEST, *since, iut=worse)
    assert done.code == done.report["exit_code"] == 1
    assert "regressions since before" in done.report["headline"]
    names = [entry["requirement"] for entry in done.report["comparison"]["regressions"]]
    assert "signature.cold-header" in names
    assert "Since before" in done.out and "Since before" in done.text("index.html")
    assert complaints(done) == 1


def test_failures_become_a_list_with_which_it_passes(place: Place) -> None:
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    words = (*BRIEF, *ONE_TEST)
    known = place.folder / "known.toml"
    done = place.run(SIMULATOR, *words, "--write-known-failures", str(known), iut=iut)
    assert done.code == 1
    head = f'[iut]\nrole = "{SIMULATOR}"\ncommand = {json.dumps(iut)}\n'
    place.file("all.toml", head + known.read_text())
    assert place.run("--config", "all.toml", *words).code == 0


def test_shards_are_merged_into_a_whole(place: Place) -> None:
    words = (SIMULATOR, *BRIEF, "-k", "test_handshake.py", "--examples", "1")
    for number in ("1", "2"):
        shard = ("--shard", f"{number}/2", "--report", f"part-{number}")
        assert place.run(*words, *shard, iut=place.simulator()).code in (0, 1)
    done = place.conformance("report", "part-1", "part-2", "--merge", "conformance-report")
    parts = [json.loads((place.folder / f"part-{n}/report.json").read_text()) for n in (1, 2)]
    assert done.code == max(part["exit_code"] for part in parts)
    assert len(done.report["tests"]) == sum(len(part["tests"]) for part in parts) - 1


@pytest.mark.parametrize("ignored", [False, True], ids=["usual", "SIGINT ignored"])
def test_watching_runs_again_after_a_change(place: Place, ignored: bool) -> None:
    iut = place.simulator()
    # As a shell starts what runs in the background.
    words = ["env", "--ignore-signal=INT"] if ignored else []
    words += [sys.executable, "-m", "conformance", "run", SIMULATOR, *BRIEF, *ONE_TEST, "--watch"]
    with subprocess.Popen(
        [*words, "--", *iut], stdout=subprocess.PIPE, text=True, cwd=place.folder
    ) as process:
        assert process.stdout
        seen = 0
        for line in process.stdout:
            if line.startswith("waiting for a change of "):
                seen += 1
                if seen == 2:
                    break
                banner = PREAMBLE + "print('Simulator 1.0', flush=True); serve()"
                os.replace(place.file("other.py", banner), iut[-1])
        process.send_signal(signal.SIGINT)
    assert (seen, process.returncode) == (2, 1)


# Output that nobody reads


@pytest.mark.parametrize("redirection", ["| head -c 1", ">&-", ">&- 2>&- <&-"])
def test_closed_output_is_no_fault_of_the_suite(place: Place, redirection: str) -> None:
    words = ["conformance", "run", SIMULATOR, *BRIEF, *ONE_TEST, "--report", "conformance-report"]
    run = shlex.join([sys.executable, "-m", *words, "--", *place.simulator()])
    done = place.execute(["bash", "-o", "pipefail", "-c", f"{run} {redirection}"])
    assert (done.code, done.report["exit_code"]) == (0, 0)
    assert "Traceback" not in done.err


# Known failures and strictness


def test_known_failures(place: Place) -> None:
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    head = f'[iut]\nrole = "{SIMULATOR}"\ncommand = {json.dumps(iut)}\n[known-failures]\n'
    holds = place.file("holds.toml", head + "'framing.json-lines' = 'it prints a banner'")
    done = place.run("--config", holds, *BRIEF, *ONE_TEST)
    assert done.code == 0
    assert done.verdict("framing.json-lines") == "known"
    assert complaints(done) == 0
    assert "FAIL" not in done.out and "Reproduce" not in done.out
    assert "it prints a banner" in done.reason("framing.json-lines")
    expired = "'framing.json-lines' = {reason = 'a banner', until = 2020-01-01}"
    done = place.run("--config", place.file("x.toml", head + expired), *BRIEF, *ONE_TEST)
    assert done.code == 1
    assert "expired on 2020-01-01" in done.out


def test_strict(place: Place) -> None:
    iut = place.simulator("SIGNATURE['VCodeSig'] = 'AAAA'; serve()")
    lenient = place.run(SIMULATOR, *BRIEF, *ONE_TEST, iut=iut)
    assert lenient.code == 0
    assert lenient.verdict("signature.cold-header") == "warn"
    assert place.run(SIMULATOR, *BRIEF, *ONE_TEST, "--strict", iut=iut).code == 1


# Reports


def test_reports(place: Place) -> None:
    """Everything that is written for one failing run, GitHub's part and Allure's among it."""
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    summary = place.folder / "summary.md"
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = place.run(SIMULATOR, *BRIEF, *ONE_TEST, "--allure", "allure", iut=iut, env=env)
    assert done.code == 1
    assert "::error title=framing.json-lines" in done.out
    assert "framing" in summary.read_text()
    results = [json.loads(file.read_text()) for file in place.folder.glob("allure/*-result.json")]
    statuses = [result["status"] for result in results if "framing.json" in result["description"]]
    assert statuses.count("failed") == done.report["counts"]["requirements"]["fail"]
    schema = json.loads((locate.reports() / "report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(done.report)
    for name in ("index.html", "junit.xml", *(test["transcript"] for test in done.report["tests"])):
        assert done.text(name)


def test_words_for_pytest(place: Place) -> None:
    done = place.run(SIMULATOR, *BRIEF, *ONE_TEST, iut=[*place.simulator(), "--pytest", "-v"])
    assert done.code == 0
    assert "test_answered_once PASSED" in done.out
    collected = place.run(SIMULATOR, iut=[*place.simulator(), "--pytest", "--collect-only", "-q"])
    assert collected.code == 3
    assert "test_answered_once" in collected.out


# Runs that must come out alike


def test_workers_change_nothing(place: Place) -> None:
    words = (SIMULATOR, *BRIEF, "-k", "test_handshake.py", "--examples", "2")
    alone = place.run(*words, iut=place.simulator()).report
    together = place.run(*words, "-n", "2", iut=place.simulator()).report
    for part in ("requirements", "tests"):
        assert [(entry["id"], entry["verdict"]) for entry in alone[part]] == [
            (entry["id"], entry["verdict"]) for entry in together[part]
        ]
    assert alone["verdict"] == together["verdict"]


def test_seed_decides_what_is_drawn(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    iut = place.simulator(
        "log = open(sys.argv[1], 'a')\n"
        "for command in commands():\n"
        "    print(json.dumps(command), file=log, flush=True)\n"
        "    if 'Handshake' in command: say(HELLO, SIGNATURE, 'Ready')\n"
    )
    said = []
    monkeypatch.setenv("CI", "true")  # which Hypothesis takes for a wish to be the same always
    for number, seed in enumerate(["1", "1", "2"]):
        log = place.folder / f"log-{number}"
        words = ("-k", "any_offer", "--examples", "5", "--seed", seed)
        assert place.run(SIMULATOR, *BRIEF, *words, iut=[*iut, str(log)]).code == 0
        said.append(log.read_text())
    assert said[0] == said[1]
    assert said[0] != said[2]


def test_counterexample_is_small_and_kept(place: Place) -> None:
    iut = place.simulator(
        "for command in commands():\n"
        "    if 'Handshake' in command:\n"
        "        said = command['Handshake']['extensions']\n"
        "        HELLO['Handshake']['extensions'] = [name + '!' for name in said]\n"
        "        say(HELLO, SIGNATURE, 'Ready')\n"
    )
    done = place.run(SIMULATOR, *BRIEF, "-k", "any_offer", iut=iut)
    assert done.code == 1
    [test] = [test for test in done.report["tests"] if test["id"] == "handshake::any_offer"]
    capture = captures.read(done.folder / test["counterexample"])
    assert capture.origin == "counterexample"
    offer = next(event.value for event in capture.events if event.message == "Handshake")
    assert offer == {"Handshake": {"version": 1, "extensions": [""]}}
    judge = judge_capture(protocols.load("vexide"), capture, ["simulator"])
    assert {finding.requirement for finding in judge.findings} == {"handshake.extensions-offered"}


# Other ways to run


@pytest.mark.parametrize(
    ("source", "code"),
    [("serve()", 0), ("print('Simulator 1.0', flush=True); serve()", 1), ("sys.exit(1)", 3)],
    ids=["sound", "banner", "ends-at-once"],
)
def test_pytest_alone(place: Place, source: str, code: int) -> None:
    words = [sys.executable, "-m", "pytest", "--pyargs", "conformance.vexide", *ONE_TEST]
    iut = " ".join(place.simulator(source))
    done = place.execute([*words, "-c", "/dev/null", "--role", SIMULATOR, "--iut", iut])
    assert done.code == done.report["exit_code"] == code
    assert SIMULATOR in done.out
    assert not done.left


def test_configuration_file(place: Place) -> None:
    """Paths in it are those of its folder, from wherever it is used."""
    project, elsewhere = place.folder / "project", place.folder / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / "simulator.py").write_text(
        PREAMBLE + "import base64\n"
        "for command in commands():\n"
        "    if 'Handshake' in command: say(HELLO, SIGNATURE, 'Ready')\n"
        "    if command == 'StartExecution' and sys.argv[1] == 'prints':\n"
        "        data = base64.b64encode(b'Hello World!\\n').decode()\n"
        "        say({'Serial': {'channel': 1, 'data': data}})\n"
    )
    (project / "conformance.toml").write_text(
        f'[iut]\nname = "mine"\nrole = "{SIMULATOR}"\n'
        f'command = "{sys.executable} simulator.py {{program}}"\nenv = {{X = "1"}}\n'
        '[programs]\nidle = "idles"\nprint = "prints"\n[timing]\nresponse = 0.5\n'
    )
    words = ("-k", "text_arrives")
    for folder, config in ((project, ()), (elsewhere, ("--config", "../project/conformance.toml"))):
        done = place.run(*config, *words, cwd=folder)
        assert done.code == 0
        assert done.report["iut"]["name"] == "mine"
        assert done.verdict("serial.bytes-exact") == "pass"
