"""A verdict is never lost if a file or a stream cannot be written."""

import json
import shlex
from pathlib import Path

import pytest

from conformance.atomic_files import replace, replacement_file
from conformance.conclusions import stored_reports
from conformance.definitions import locations
from conformance.reporting import files
from conformance.selftest.driving import COMMAND, ONE_TEST, SIMULATOR, TIMINGS, Place


def test_a_report_that_cannot_be_written_is_refused_before_any_test(place: Place) -> None:
    started = place.folder / "started"
    iut = place.simulator(f"open({str(started)!r}, 'w')")
    place.file("occupied", "a file, not a folder")
    done = place.run(SIMULATOR, *TIMINGS, "--report", "occupied/report", iut=iut)
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("conformance: --report ")
    assert not started.exists()


def test_linked_transcripts_are_refused(place: Place) -> None:
    """A run deletes the transcripts of the previous run, and nothing elsewhere."""
    kept = place.folder / "kept"
    kept.mkdir()
    (kept / "mine.jsonl").touch()
    (place.folder / "conformance-report").mkdir()
    (place.folder / "conformance-report/report.json").touch()
    (place.folder / "conformance-report/transcripts").symlink_to(kept)
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=place.simulator())
    assert done.code == 2 and "transcripts is a symbolic link" in done.err
    assert (kept / "mine.jsonl").exists()


def test_the_verdict_is_printed_if_the_report_cannot_be_written(place: Place) -> None:
    """The IUT creates a folder with the name of report.json."""
    iut = place.simulator("os.makedirs('conformance-report/report.json', exist_ok=True); serve()")
    done = place.run(SIMULATOR, *TIMINGS, *ONE_TEST, iut=iut)
    assert done.code == 2
    assert done.out.startswith("CONFORMANT IN THIS SELECTION") and "Report:" not in done.out
    assert "cannot be written" in done.err and "Traceback" not in done.err
    assert not [path for path in done.folder.rglob("*") if path.name.startswith(".")]


def test_output_to_a_full_disk(place: Place) -> None:
    run = shlex.join([*COMMAND, "run", SIMULATOR, *TIMINGS, *ONE_TEST, "--", *place.simulator()])
    done = place.execute(["sh", "-c", f"{run} > /dev/full"])
    assert done.code == 2
    last = "conformance: standard output cannot be written: No space left on device"
    assert done.err.splitlines()[-1] == last
    report = json.loads((place.folder / "conformance-report-selection/report.json").read_text())
    assert report["verdict"] == "conformant"


def test_a_working_folder_that_is_gone(place: Place) -> None:
    words = shlex.join([*COMMAND, "list"])
    done = place.execute(["sh", "-c", f"mkdir gone && cd gone && rmdir ../gone && {words}"])
    assert (done.code, done.err) == (2, "conformance: the working folder does not exist any more\n")


def test_a_working_folder_that_goes_during_the_run(place: Place) -> None:
    remove = f"import shutil; shutil.rmtree({str(place.folder / 'here')!r}, True); serve()"
    words = [
        *COMMAND,
        "run",
        SIMULATOR,
        *TIMINGS,
        *ONE_TEST,
        "--report",
        str(place.folder / "r"),
    ]
    run = shlex.join([*words, "--", *place.simulator(remove)])
    done = place.execute(["sh", "-c", f"mkdir here && cd here && {run}"])
    assert done.code == 0, done.err
    assert (place.folder / "r/report.json").is_file()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    replace(path, "first")
    with pytest.raises(BufferError), replacement_file(path) as file:
        file.write(memoryview(b"secon")[::2])
    assert path.read_text() == "first"
    other.write_text("not ours")
    path.unlink()
    path.symlink_to(other)
    replace(path, "second")
    assert (path.read_text(), other.read_text()) == ("second", "not ours")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "other"]


def test_a_report_is_written_as_a_whole_or_not(tmp_path: Path) -> None:
    sample = stored_reports.load(locations.reports() / "sample")
    (tmp_path / "report.json").mkdir()
    with pytest.raises(files.UnwrittenReport, match="cannot be written"):
        files.write(sample, tmp_path)
    assert not list(tmp_path.glob(".*"))
