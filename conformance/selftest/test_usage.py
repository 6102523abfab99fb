"""Files and exit codes of a run: reports, known failures, strictness, and stability."""

import fcntl
import json
import os
import re
import shlex
import sys

import jsonschema
import pytest

from conformance.definitions import locations, protocols
from conformance.judging import captures
from conformance.judging.connections import judge_capture
from conformance.selftest.driving import ONE_TEST, PREAMBLE, SIMULATOR, TIMINGS, Place

# Closed outputs


@pytest.mark.parametrize("redirection", ["| head -c 1", ">&-", ">&- 2>&- <&-"])
def test_closed_output_is_no_fault_of_the_suite(place: Place, redirection: str) -> None:
    words = [
        "conformance",
        "run",
        SIMULATOR,
        *TIMINGS,
        *ONE_TEST,
        "--report",
        "conformance-report",
    ]
    run = shlex.join([sys.executable, "-m", *words, "--", *place.simulator()])
    done = place.execute(["bash", "-o", "pipefail", "-c", f"{run} {redirection}"])
    assert (done.code, done.report["exit_code"]) == (0, 0)
    assert "Traceback" not in done.err


def test_a_long_run_says_that_it_goes_on(place: Place) -> None:
    words = ["run", SIMULATOR, *TIMINGS, *ONE_TEST, "--report", "conformance-report", "--"]
    silent = place.simulator("sys.stdin.read()")
    script = (
        "from conformance import cli; from conformance.running import progress;"
        " progress.HEARTBEAT = 0.05; cli.main(sys.argv[1:])"
    )
    done = place.execute([sys.executable, "-c", f"import sys; {script}", *words, *silent])
    assert re.search(rf"^{SIMULATOR} \[-+\] 0/1 tests, 1 left$", done.err, re.MULTILINE)


# Known failures and strictness


def test_known_failures(place: Place) -> None:
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    head = f'[iut]\nrole = "{SIMULATOR}"\ncommand = {json.dumps(iut)}\n[known-failures]\n'
    holds = place.file("holds.toml", head + "'framing.json-lines' = 'it prints a banner'")
    done = place.run("--config", holds, *TIMINGS, *ONE_TEST)
    assert done.code == 0
    assert done.verdict("framing.json-lines") == "known"
    assert done.complaints == 0
    assert "FAIL" not in done.out and "Reproduce" not in done.out
    assert "it prints a banner" in done.reason("framing.json-lines")
    expired = "'framing.json-lines' = {reason = 'a banner', until = 2020-01-01}"
    done = place.run("--config", place.file("x.toml", head + expired), *TIMINGS, *ONE_TEST)
    assert done.code == 1
    assert "expired on 2020-01-01" in done.out


def test_strict(place: Place) -> None:
    iut = place.simulator("SIGNATURE['VCodeSig'] = 'AAAA'; serve()")
    lenient = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=iut)
    assert lenient.code == 0
    assert lenient.verdict("signature.cold-header") == "warn"
    assert place.run(SIMULATOR, *TIMINGS, *ONE_TEST, "--strict", iut=iut).code == 1


# Reports


def test_a_report_folder_is_of_one_run(place: Place) -> None:
    """A folder contains only the latest run, and is locked for a second run."""
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=place.simulator())
    left = done.folder / "transcripts" / "another_test.jsonl"
    left.write_text("")
    again = place.simulator()
    descriptor = os.open(done.folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    refused = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=again)
    os.close(descriptor)
    assert refused.code == 2
    assert "another run writes to this folder; choose another" in refused.err
    assert left.exists()
    assert place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=again).code == 0
    assert not left.exists()


def test_reports(place: Place) -> None:
    """All outputs of a failing run, with those for GitHub and Allure."""
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    summary = place.folder / "summary.md"
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, "--allure", "allure", iut=iut, env=env)
    assert done.code == 1
    assert "::error title=framing.json-lines" in done.out
    assert "framing" in summary.read_text()
    results = [json.loads(file.read_text()) for file in place.folder.glob("allure/*-result.json")]
    statuses = [result["status"] for result in results if "framing.json" in result["name"]]
    assert statuses.count("failed") == done.report["counts"]["requirements"]["fail"]
    links = [link["url"] for result in results for link in result.get("links", ())]
    assert set(links) == {protocols.load("vexide").address}
    schema = json.loads((locations.reports() / "report.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(done.report)
    for name in ("index.html", "junit.xml", *(test["transcript"] for test in done.report["tests"])):
        assert done.text(name)


def test_words_for_pytest(place: Place) -> None:
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=[*place.simulator(), "--pytest", "-v"])
    assert done.code == 0
    assert "test_answered_once PASSED" in done.out
    collected = place.run(SIMULATOR, iut=[*place.simulator(), "--pytest", "--collect-only", "-q"])
    assert collected.code == 3
    assert "test_answered_once" in collected.out


# Runs that must come out alike


def test_workers_change_nothing(place: Place) -> None:
    words = (SIMULATOR, *TIMINGS, "-k", "test_handshake.py", "--examples", "2")
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
    logs = []
    monkeypatch.setenv("CI", "true")  # Hypothesis becomes deterministic if CI is set
    for number, seed in enumerate(["1", "1", "2"]):
        log = place.folder / f"log-{number}"
        words = ("-k", "any_offer", "--examples", "5", "--seed", seed)
        assert place.run(SIMULATOR, *TIMINGS, *words, iut=[*iut, str(log)]).code == 0
        logs.append(log.read_text())
    assert logs[0] == logs[1]
    assert logs[0] != logs[2]


def test_counterexample_is_small_and_kept(place: Place) -> None:
    iut = place.simulator(
        "for command in commands():\n"
        "    if 'Handshake' in command:\n"
        "        names = command['Handshake']['extensions']\n"
        "        HELLO['Handshake']['extensions'] = [name + '!' for name in names]\n"
        "        say(HELLO, SIGNATURE, 'Ready')\n"
    )
    done = place.run(SIMULATOR, *TIMINGS, "-k", "any_offer", iut=iut)
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
    words += ["--report", "conformance-report"]
    iut = " ".join(place.simulator(source))
    done = place.execute([*words, "-c", "/dev/null", "--role", SIMULATOR, "--iut", iut])
    assert done.code == done.report["exit_code"] == code
    assert SIMULATOR in done.out
    assert not done.left


def test_configuration_file(place: Place) -> None:
    """Paths are relative to the configuration's folder, wherever the command runs."""
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
