"""Measure whether the suite names the true cause of each mistake of the strangers.

    python -m conformance.benchmarks.strangers [--verbose] [PROGRAM[:SWITCH]…]

The table has a line for each run. A line contains the program, its switch, and the correctness of
the verdicts and of the causes. The number of causes, the seconds, the number of replays and the
first cause follow. The switch "sound" is the program without a mistake. Without names everything is
tried.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.selftest.strangers import strangers
from conformance.selftest.strangers.strangers import Run, Stranger

SOUND = "sound"
WIDTH = 150  # characters of the first cause that are printed
HEAD = ("program", "switch", "verdicts", "cause", "causes", "s", "replays", "said first")


def chosen(names: list[str]) -> Iterator[tuple[Stranger, str]]:
    """Yield each program with each switch that the names select; all without names."""
    for stranger in strangers.table().values():
        for switch in (SOUND, *stranger.switches):
            if not names or stranger.name in names or f"{stranger.name}:{switch}" in names:
                yield stranger, switch


def problems(stranger: Stranger, switch: str, run: Run) -> tuple[list[str], list[str]]:
    """Return the problems of the verdicts, and those of the causes."""
    if switch == SOUND:
        wrong = [f"{name}: {verdict}" for name, verdict in strangers.violated(run.report).items()]
        return wrong if run.code == 0 else [f"exit code {run.code}", *wrong], []
    expected = stranger.switches[switch]
    return (
        strangers.wrong_verdicts(expected, run.report),
        strangers.wrong_causes(expected, run.report),
    )


def row(*cells: object) -> str:
    """Return a line of the table."""
    program, switch, verdicts, cause, causes, seconds, replays, first = map(str, cells)
    left = f"{program:25}{switch:31}{verdicts:9}{cause:6}"
    return f"{left}{causes:>6}{seconds:>7}{replays:>8}  {first[:WIDTH]}"


def measure(stranger: Stranger, switch: str, built: Path, verbose: bool) -> tuple[bool, bool]:
    """Run the suite once and print a line about it.

    Return whether the verdicts are right, and whether the causes are right.
    """
    with tempfile.TemporaryDirectory(prefix="stranger-") as folder:
        run = strangers.run(stranger, "" if switch == SOUND else switch, built, Path(folder))
    verdicts, causes = problems(stranger, switch, run)
    marks = ["NO" if wrong else "yes" for wrong in (verdicts, causes)]
    counts = (len(run.report["causes"]), f"{run.seconds:.1f}", strangers.replays(run.report))
    first = strangers.first_cause(run.report)
    print(row(stranger.name, switch, *marks, *counts, first), flush=True)
    for each in (*verdicts, *causes):
        print(f"{'':27}! {each}")
    if verbose:
        print(f"{'':27}violated: {strangers.violated(run.report)}")
        for cause in run.report["causes"]:
            consequences = [each["requirement"] for each in cause.get("consequences", ())]
            text = f"{cause['what']} | {cause.get('said', '')} | {consequences}"
            print(f"{'':27}{cause['kind']} {cause['requirement']}: {text}", flush=True)
    return not verdicts, not causes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", metavar="PROGRAM[:SWITCH]", nargs="*", help="default: all")
    parser.add_argument("--verbose", action="store_true", help="print all causes of each run")
    parser.add_argument("--built", type=Path, help="a folder to keep the built programs in")
    args = parser.parse_args()
    print(row(*HEAD))
    results = []
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        built = args.built or Path(folder)
        for stranger, switch in chosen(args.names):
            if not strangers.available(stranger):
                print(f"{stranger.name:25}{switch:31}not tried: {stranger.tool} is not installed")
                continue
            strangers.build(stranger, built)
            results.append(measure(stranger, switch, built, args.verbose))
    verdicts, causes = sum(each[0] for each in results), sum(each[1] for each in results)
    print(f"{len(results)} runs: the verdicts of {verdicts} and the causes of {causes} are right")


if __name__ == "__main__":
    main()
