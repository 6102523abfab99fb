"""Test an implementation, and write a report.

The implementation under test is called the IUT. The suite has to know how to start or reach it,
how long it can take and what a user does to it. These values are called the IXIT. The options below
or a file conformance.toml give them.

  conformance run PROTOCOL/ROLE [options] -- COMMAND

COMMAND starts the implementation under test. The suite replaces {port}, {socket}, {program} and
other placeholders in COMMAND. --mock tests the reference mock.
"""

import argparse
import fcntl
import os
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from conformance.commands import options as options_of_iut
from conformance.commands import selection_options
from conformance.conclusions import known_failures, stored_reports
from conformance.configuration import FILE, Configuration, ConfigurationError, check_configuration
from conformance.definitions import protocols
from conformance.exits import INCONCLUSIVE, SUITE_FAILED, USAGE, WrongUsage
from conformance.harness import abandoned, fork_server, strays
from conformance.reporting import files, github
from conformance.reporting.summary import terminal_summary
from conformance.running import file_watch

REPORTS = ("conformance-report", "conformance-report-selection")
"""The default folders for the report of a whole run, and of a selection."""

# Options of pytest that select some of the tests, or none.
_SELECTING = ("-k", "-m", "-x", "--exitfirst", "--maxfail", "--deselect", "--ignore", "--co")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", metavar="PROTOCOL/ROLE", nargs="?")
    options_of_iut.add(parser)
    parser.add_argument(
        "--report", metavar="DIR", help="default: {}, or {} for a selection".format(*REPORTS)
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="the run also fails because of warnings and inconclusives",
    )
    selection_options.add(parser)
    parser.add_argument(
        "--examples",
        type=_positive,
        metavar="N",
        help="examples of each property test at most; only examples that cover something new run",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the generated examples"
    )
    parser.add_argument(
        "-n",
        dest="workers",
        type=_workers,
        metavar="N",
        help="tests run in parallel; auto, the default, chooses a good number",
    )
    parser.add_argument(
        "--max-time",
        type=float,
        default=3600.0,
        metavar="S",
        help="end the run after S seconds, and report the tests done so far (default: an hour)",
    )
    parser.add_argument(
        "--baseline", metavar="REPORT", help="fail if a result is worse than in this earlier report"
    )
    parser.add_argument(
        "--write-known-failures",
        metavar="FILE",
        type=Path,
        help="write all failures as a list for conformance.toml",
    )
    parser.add_argument(
        "--watch", action="store_true", help="run again when a file of the command changes"
    )
    parser.add_argument(
        "--no-isolate",
        action="store_true",
        help="run no experiments that isolate the message that ends a session",
    )
    parser.add_argument(
        "--without",
        metavar="MESSAGE",
        action="append",
        default=[],
        help="leave out messages of this kind, as a report names it",
    )
    parser.add_argument("--allure", metavar="DIR", help="also write Allure results")


def execute(args: argparse.Namespace) -> int:
    if args.failed and not (args.role or args.rest or args.config or Path(FILE).is_file()):
        return _repeat_failed()
    command, extra = _divide(args.rest)
    chosen = run_configuration(args, command, extra)
    if args.watch:
        folder = Path(chosen.cwd or ".")
        watched = file_watch.files_of(chosen.command, folder)
        if not watched:
            raise ConfigurationError("--watch: the command names no file to watch")
        place = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
        again = [word for word in sys.argv[1:place] if word != "--watch"] + sys.argv[place:]
        report_file = Path(chosen.report) / "report.json"
        return file_watch.watch([sys.executable, "-m", "conformance", *again], watched, report_file)
    if args.write_known_failures:
        known_failures.prepare(args.write_known_failures)
    done = run(chosen, args, extra)
    report = done.report
    if report is None:
        return done.code
    where = None if done.unwritten else files.display_path(Path(chosen.report))
    print(terminal_summary(report, where, colour=sys.stdout.isatty()))
    if done.unwritten:
        raise WrongUsage(done.unwritten)
    if file := args.write_known_failures:
        print(f"Wrote {known_failures.write(report, file)} known failures to {file}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _write_for_github(report)
    return int(report["exit_code"])


def _repeat_failed() -> int:
    """Run the failed tests of the latest report again, with the words of that run."""
    from conformance import cli

    written = [file for folder in REPORTS if (file := Path(folder, "report.json")).is_file()]
    reports = [
        report for file in written if (report := stored_reports.load(file)).get("invocation")
    ]
    if not reports:
        raise ConfigurationError("--failed: found no earlier report in this folder")
    latest = max(reports, key=lambda report: str(report["started"]))
    ours, dashes, command = latest["invocation"].partition(" -- ")
    words = [*shlex.split(ours)[1:], "--failed"]
    return cli.main([*words, "--", *shlex.split(command)] if dashes else words)


def run_configuration(
    args: argparse.Namespace, command: list[str], extra: list[str]
) -> Configuration:
    """Return the configuration of a run: the IUT to test, and the run's options."""
    words = ["conformance", "run", *([args.role] if args.role else [])]
    words += ["--examples", str(args.examples)] if args.examples else []
    role = protocols.role(args.role) if args.role else None
    chosen = options_of_iut.iut_configuration(args, role, command)
    if args.workers not in (None, "1", "auto"):
        if chosen.runs_already:
            why = "is started by hand"
        elif chosen.has_fixed_address:
            why = "has a fixed address"
        else:
            why = ""
        if why:
            raise ConfigurationError(
                f"-n {args.workers}: an IUT that {why} can only run one test at a time"
            )
    selection = selection_options.selection_from(
        args, chosen, (args.report,) if args.report else REPORTS
    )
    partial = bool(selection) or any(word.startswith(_SELECTING) for word in extra)
    folder = args.report or REPORTS[partial]
    found = replace(
        chosen,
        examples=args.examples or chosen.examples,
        workers=args.workers or chosen.workers,
        seed=args.seed,
        strict=args.strict,
        max_time=args.max_time,
        baseline=_baseline(args.baseline, chosen) if args.baseline else "",
        selection=selection,
        isolate=not (args.no_isolate or args.without),
        without=tuple(args.without),
        report=str(Path(folder).resolve()),
        invocation=options_of_iut.repeat_command(args, command, *words),
    )
    return check_configuration(found)


class RunResult:
    """The result of a run; a pytest plugin, which gets the report from the runner.

    Without a report, ``code`` is the exit code. ``unwritten`` is the reason if the files of the
    report could not be written; otherwise it is empty.
    """

    def __init__(self) -> None:
        self.report: dict[str, Any] | None = None
        self.unwritten = ""
        self.code = SUITE_FAILED

    def pytest_unconfigure(self, config: Any) -> None:
        runner = config.pluginmanager.get_plugin("conformance-runner")
        if runner and (runner.written or runner.unwritten):
            self.report, self.unwritten = runner.report, runner.unwritten


def run(chosen: Configuration, args: argparse.Namespace, extra: list[str]) -> RunResult:
    """Run the tests of a role."""
    if tuple(chosen.command[:3]) == fork_server.MOCK:
        # The fork server imports the mocks' modules while pytest and Hypothesis are imported here.
        fork_server.serve()
    import pytest

    from conformance.running.collection import LEAN

    words = ["--pyargs", *chosen.role.packages, "-c", os.devnull]
    words += ["--rootdir", str(Path(__file__).parents[1]), "-p", "conformance.plugin"]
    words += [*LEAN, "--capture=no", "--assert=plain"]
    words += ["-k", args.keyword] if args.keyword else []
    words += extra or ["-p", "no:terminal"]
    if args.allure:
        words += ["-p", "allure_pytest.plugin", "--alluredir", str(Path(args.allure).resolve())]
    claimed = _claim_folder(Path(chosen.report) / "report.json")
    print(f"{chosen.role}: starting", file=sys.stderr, flush=True)
    try:
        with abandoned.temporary() as folder, strays.clean_up("the IUT"):
            file = folder / "run.json"
            file.write_text(chosen.to_json(), encoding="utf-8")
            words += ["--conformance-run", str(file), "--basetemp", str(folder / "pytest")]
            done = RunResult()
            status = pytest.main(words, plugins=[done])
        if done.report is None:
            if status == pytest.ExitCode.INTERRUPTED:
                raise KeyboardInterrupt
            if status == pytest.ExitCode.USAGE_ERROR:
                done.code = USAGE
            # Pytest was asked for something other than running tests, such as --collect-only.
            elif status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
                done.code = INCONCLUSIVE
        return done
    finally:
        os.close(claimed)


def _claim_folder(report: Path) -> int:
    """Return the open folder of a report, locked for this run; delete an earlier report."""
    try:
        files.prepare(report.parent)
        folder = os.open(report.parent, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(folder)
            why = "another run writes to this folder; choose another"
            raise ConfigurationError(f"--report {report.parent}: {why}") from error
        except OSError:
            pass  # some file systems, such as NFS, cannot lock folders
        if report.exists():
            report.unlink()
            for transcript in report.parent.glob("transcripts/*.jsonl"):
                transcript.unlink()
        return folder
    except OSError as error:
        text = f"--report {report.parent}: {error.strerror or error}"
        raise ConfigurationError(text) from error


def _baseline(path: str, chosen: Configuration) -> str:
    """Return the path of an earlier report of the same role. Raises ConfigurationError."""
    role = stored_reports.load(Path(path))["iut"]["role"]
    if role != str(chosen.role):
        raise ConfigurationError(
            f"--baseline {path}: expected a report of {chosen.role}; this one is of {role}"
        )
    return str(Path(path).resolve())


def _divide(rest: list[str]) -> tuple[list[str], list[str]]:
    """Return the IUT's command, and the options of pytest after ``--pytest``."""
    if "--pytest" not in rest:
        return rest, []
    place = rest.index("--pytest")
    return rest[:place], rest[place + 1 :]


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def _workers(text: str) -> str:
    return text if text == "auto" else str(_positive(text))


def _write_for_github(report: dict[str, Any]) -> None:
    for line in github.github_annotations(report):
        print(line)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(github.github_step_summary(report))
            names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
            if all(parts := [os.environ.get(name, "") for name in names]):
                server, repository, number = parts
                address = f"{server}/{repository}/actions/runs/{number}#artifacts"
                file.write(
                    f"\n[The report with every session]({address}), if the workflow uploads it\n"
                )
