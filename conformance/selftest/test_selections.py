"""Runs of a selection, and several runs: compared, repeated and merged."""

import json
import os
import signal
import subprocess
import sys

import pytest

from conformance.selftest.driving import ONE_TEST, PREAMBLE, SIMULATOR, TIMINGS, Place


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
    done = place.run(SIMULATOR, *TIMINGS, "--requirement", "ready.once", iut=place.simulator())
    assert done.code == 0
    assert done.tests == {"smoke": "pass", "setup::ready_once": "pass"}


def test_a_selection_leaves_the_whole_report_alone(place: Place) -> None:
    words = ("run", SIMULATOR, *TIMINGS, *ONE_TEST, "--", *place.simulator())
    whole = place.folder / "conformance-report" / "report.json"
    whole.parent.mkdir()
    whole.write_text("{}")
    done = place.conformance(*words)
    assert done.code == 0
    assert done.out.startswith("CONFORMANT IN THIS SELECTION  ")
    assert whole.read_text() == "{}"
    folder = place.folder / "conformance-report-selection"
    selection = json.loads((folder / "report.json").read_text())["selection"]
    assert (selection["by"], selection["tests"]) == ("-k 'answered_once'", 1)
    assert selection["of"] > 100
    left = {entry.name for entry in place.folder.iterdir()} - {"iut.py", "out", "err", "tmp"}
    assert left == {"conformance-report", "conformance-report-selection"}


def test_a_selection_of_pytest_leaves_the_whole_report_alone(place: Place) -> None:
    words = (
        "run",
        SIMULATOR,
        *TIMINGS,
        "--",
        *place.simulator(),
        "--pytest",
        "-q",
        *ONE_TEST,
    )
    assert place.conformance(*words).code == 0
    assert not (place.folder / "conformance-report").exists()
    assert (place.folder / "conformance-report-selection" / "report.json").is_file()


def test_a_run_ends_at_the_first_violation(place: Place) -> None:
    """A violation that the judge found ends the run, too, although the test passed."""
    words = (
        "run",
        SIMULATOR,
        *TIMINGS,
        "-k",
        "answered_once or ready_once or text_arrives",
        "--",
    )
    twice = place.simulator("HELLO['Handshake']['version'] = 2; serve()")
    done = place.conformance(*words, *twice, "--pytest", "-x", "-p", "no:terminal")
    folder = place.folder / "conformance-report-selection"
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert done.code == report["exit_code"] == 1
    assert len(report["tests"]) < 3


def test_a_run_ends_at_its_limit(place: Place) -> None:
    words = ("--timing", "startup=9", "--timing", "response=9", "-k", "ready_once or text_arrives")
    # The smoke session passes; every later session gets no answer.
    silent = place.simulator(
        "first = not os.path.exists('seen'); open('seen', 'w')\n"
        "serve() if first else sys.stdin.read()"
    )
    done = place.run(SIMULATOR, *words, "--max-time", "5", iut=silent)
    assert done.code == done.report["exit_code"] == 3
    assert "the run reached its --max-time of 5 s after 0 tests" in done.report["headline"]
    assert (
        done.reason("serial.bytes-exact") == "the run reached its --max-time before it was decided"
    )
    assert not done.left


def test_selects_requirements_by_a_pattern(place: Place) -> None:
    words = ("--requirement", "ready.*", "--requirement", "signature.sent")
    done = place.run(SIMULATOR, *TIMINGS, *words, iut=place.simulator())
    decided = {test["requirement"] for test in done.report["tests"] if test["id"] != "smoke"}
    assert {"ready.once", "ready.sent", "signature.sent"} <= decided
    assert all(name.startswith("ready.") for name in decided - {"signature.sent"})


def test_what_failed_last_time(place: Place) -> None:
    iut = place.simulator(
        "for c in commands():\n    'Handshake' in c and say(HELLO, 'Ready', 'Ready')"
    )
    words = (SIMULATOR, *TIMINGS)
    assert "no earlier report of" in place.run(*words, "--failed", iut=iut).err
    first = place.run(*words, "-k", "ready_once or answered_once", iut=iut)
    bad = {test["id"] for test in first.report["tests"] if test["verdict"] in ("fail", "warn")}
    bad |= {f["test"] for f in first.report["findings"]} - {"smoke"}
    assert "setup::ready_once" in bad
    again = place.run(*words, "--failed", iut=iut)
    assert {test["id"] for test in again.report["tests"]} - {"smoke"} == bad
    assert again.report["selection"]["by"] == "--failed"


def test_nothing_may_be_worse_than_before(place: Place) -> None:
    good = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, "--report", "before", iut=place.simulator())
    assert good.code == 0
    since = ("--baseline", "before")
    assert place.run(SIMULATOR, *TIMINGS, *ONE_TEST, *since, iut=place.simulator()).code == 0
    worse = place.simulator("SIGNATURE['VCodeSig'] = 'AAAA'; serve()")
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, *since, iut=worse)
    assert done.code == done.report["exit_code"] == 1
    assert "regressions since before" in done.report["headline"]
    names = [entry["requirement"] for entry in done.report["comparison"]["regressions"]]
    assert "signature.cold-header" in names
    assert "Since before" in done.out and "Since before" in done.text("index.html")
    assert done.complaints == 1


def test_failures_become_a_list_with_which_it_passes(place: Place) -> None:
    iut = place.simulator("print('Simulator 1.0', flush=True); serve()")
    words = (*TIMINGS, *ONE_TEST)
    known = place.folder / "known.toml"
    done = place.run(SIMULATOR, *words, "--write-known-failures", str(known), iut=iut)
    assert done.code == 1
    head = f'[iut]\nrole = "{SIMULATOR}"\ncommand = {json.dumps(iut)}\n'
    place.file("all.toml", head + known.read_text())
    assert place.run("--config", "all.toml", *words).code == 0


def test_shards_are_merged_into_a_whole(place: Place) -> None:
    words = (SIMULATOR, *TIMINGS, "-k", "test_handshake.py", "--examples", "1")
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
    # A shell starts background programs with SIGINT ignored.
    words = ["env", "--ignore-signal=INT"] if ignored else []
    words += [
        sys.executable,
        "-m",
        "conformance",
        "run",
        SIMULATOR,
        *TIMINGS,
        *ONE_TEST,
        "--watch",
    ]
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


def test_a_repeat_takes_one_test_however_others_are_named(place: Place) -> None:
    """The id is exact; a keyword would select all tests whose names contain it."""
    iut = place.simulator()
    first = place.run(SIMULATOR, *TIMINGS, "-k", "answered_once", "--max-wait", "7", iut=iut)
    (test,) = first.report["tests"][1:]
    assert f"--test {test['id']}" in test["reproduce"] and "--max-wait 7" in test["reproduce"]
    again = place.run(SIMULATOR, *TIMINGS, "--test", test["id"], iut=iut)
    assert [each["id"] for each in again.report["tests"][1:]] == [test["id"]]
    assert again.report["selection"]["by"] == f"--test '{test['id']}'"
    assert place.run(SIMULATOR, *TIMINGS, "--test", test["id"][:-1], iut=iut).code == 3
