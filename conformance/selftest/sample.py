"""Make the folder ``reports/sample``: a shortened report about the sample simulator.

``python -m conformance.selftest.sample`` makes the folder again. Names of files become relative to
the project. The transcripts of tests that found nothing are left out.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.reporting.page import write_page

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "reports" / "sample"
PARTS = "exit or handshake or inputs or output"
"""The modules of test cases that run: the whole role would make a page of 1 MB."""
RUN = ("run", "--config", "conformance/selftest/sample.toml", "-k", PARTS)
"""The words of the command; its exit code is 1, because the simulator has mistakes."""

_TIMES = {"duration_s", "started", "overlap", "stretched", "replays", "event"}
"""The members of a report that depend on the clock and on the load of the machine.

The position of a culprit in its smallest session (``event``) depends on the speed of the IUT.
"""


def play(folder: Path) -> dict[str, Any]:
    """Run the sample simulator; write the small report to a folder, and return the report.

    Raises RuntimeError if the run ends with another exit code than expected.
    """
    with tempfile.TemporaryDirectory(prefix="sample-") as place:
        whole = Path(place) / "report"
        command = [sys.executable, "-m", "conformance", *RUN, "--report", str(whole)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode != 1:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        report = json.loads(_relative((whole / "report.json").read_text("utf-8"), whole))
        for test in report["tests"]:
            # A test that needs a fact shows the session that found it, if no other test found it.
            if test["verdict"] in ("pass", "not-exercised"):
                test["transcript"] = None
        for name in sorted(set(_files(report))):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_relative((whole / name).read_text("utf-8"), whole), "utf-8")
    text = json.dumps(report, indent=1, ensure_ascii=False)
    (folder / "report.json").write_text(text + "\n", "utf-8")
    write_page(report, folder)
    return dict(report)


def _relative(text: str, whole: Path) -> str:
    """Return the text of a file without the folders of this machine."""
    return text.replace(str(whole), "reports/sample").replace(f"{ROOT}/", "")


def _files(report: dict[str, Any]) -> Iterator[str]:
    """Yield the names of all files that a report refers to."""
    for entry in [*report["tests"], *report["findings"], *report["causes"]]:
        culprit = entry.get("culprit") or {}
        names = (entry.get("transcript"), entry.get("counterexample"), culprit.get("capture"))
        yield from filter(None, names)


def comparable(value: Any) -> Any:
    """Return a part of a report without the members that depend on the machine."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items() if key not in _TIMES}
    return [comparable(part) for part in value] if isinstance(value, list) else value


def main() -> None:
    for path in sorted(FOLDER.rglob("*"), reverse=True):
        if path.is_file():
            path.unlink()
        else:
            path.rmdir()
    FOLDER.mkdir(exist_ok=True)
    report = play(FOLDER)
    size = sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file())
    print(f"{FOLDER.relative_to(ROOT)}: {report['headline']}; {size // 1024} KiB")
    # An experiment on a busy machine can take too long to decide.
    if any(cause["undecided"] for cause in report["causes"]):
        sys.exit("the machine was too busy for an experiment: run this again")


if __name__ == "__main__":
    main()
