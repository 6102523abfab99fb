"""Check runs against misbehaving IUTs: correct verdicts, no processes and files that remain."""

from conformance.selftest.driving import ONE_TEST, SIMULATOR, TIMINGS, Done, Place

MEBIBYTE = 1024 * 1024
MAX_MEMORY = 300 * MEBIBYTE
ERROR_TEXT = "no licence: see the manual"


def run_test(place: Place, source: str, *words: str) -> Done:
    """Run one test against a simulator, and check that no process or file remains."""
    done = place.run(SIMULATOR, *TIMINGS, *(words or ONE_TEST), iut=place.simulator(source))
    assert_clean(done)
    return done


def assert_clean(done: Done) -> None:
    assert "Traceback" not in done.out + done.err
    assert not done.left
    assert not done.litter
    assert done.memory < MAX_MEMORY
    assert not done.report["problems"]


def failed(done: Done) -> list[str]:
    return [entry["id"] for entry in done.report["requirements"] if entry["verdict"] == "fail"]


def verdicts(done: Done) -> dict[str, str]:
    """Return the verdict of every test except the smoke session."""
    return {test["id"]: test["verdict"] for test in done.report["tests"] if test["id"] != "smoke"}
