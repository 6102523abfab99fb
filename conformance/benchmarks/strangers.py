"""Whether the suite names the true cause of each mistake of the strangers.

    python -m conformance.benchmarks.strangers [--verbose] [PROGRAM[:SWITCH]…]

The table has a line for each run: the program, its switch, whether the verdicts and the first cause
are right, the seconds, the number of replays if the report has it, and the first cause. The switch
"sound" is the program without a mistake. Without names all switches of all programs are tried.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from conformance.selftest.strangers import strangers
from conformance.selftest.strangers.strangers import Run, Stranger

SOUND = "sound"
WIDTH = 150  # characters of the first cause that are printed


def chosen(names: list[str]) -> Iterator[tuple[Stranger, str]]:
    """Each program with each of its switches that the names select; all if there are none."""
    for stranger in strangers.table().values():
        for switch in (SOUND, *stranger.switches):
            if not names or stranger.name in names or f"{stranger.name}:{switch}" in names:
                yield stranger, switch


def problems(stranger: Stranger, switch: str, run: Run) -> tuple[list[str], list[str]]:
    """What is wrong about the verdicts, and about the causes."""
    if switch == SOUND:
        wrong = [f"{name}: {verdict}" for name, verdict in strangers.violated(run.report).items()]
        return wrong if run.code == 0 else [f"exit code {run.code}", *wrong], []
    expected = stranger.switches[switch]
    return (
        strangers.wrong_verdicts(expected, run.report),
        strangers.wrong_causes(expected, run.report),
    )


def measure(stranger: Stranger, switch: str, built: Path, verbose: bool) -> None:
    """Run the suite once, and print a line about it."""
    with tempfile.TemporaryDirectory(prefix="stranger-") as folder:
        run = strangers.run(stranger, "" if switch == SOUND else switch, built, Path(folder))
    verdicts, causes = problems(stranger, switch, run)
    marks = f"{'NO' if verdicts else 'yes':9}{'NO' if causes else 'yes':7}"
    replays = run.report.get("replays", "")
    first = strangers.first_cause(run.report)
    print(
        f"{stranger.name:20}{switch:30}{marks}{run.seconds:6.1f}{replays!s:>8}  {first[:WIDTH]}",
        flush=True,
    )
    for each in (*verdicts, *causes):
        print(f"{'':20}! {each}")
    if verbose:
        print(f"{'':20}  violated: {strangers.violated(run.report)}")
        for cause in run.report["causes"]:
            consequences = [each["requirement"] for each in cause.get("consequences", ())]
            said = cause.get("said", "")
            print(f"{'':20}  {cause['kind']} {cause['requirement']}: {cause['what']}", end="")
            print(f" | {said} | {consequences}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", metavar="PROGRAM[:SWITCH]", nargs="*", help="default: all")
    parser.add_argument("--verbose", action="store_true", help="print all causes of each run")
    parser.add_argument("--built", type=Path, help="a folder to keep the built programs in")
    args = parser.parse_args()
    print(f"{'program':20}{'switch':30}{'verdicts':9}{'cause':7}{'s':>6}{'replays':>8}  said first")
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        built = args.built or Path(folder)
        for stranger, switch in chosen(args.names):
            if not strangers.available(stranger):
                print(f"{stranger.name:20}{switch:30}not tried: {stranger.tool} is not installed")
                continue
            strangers.build(stranger, built)
            measure(stranger, switch, built, args.verbose)


if __name__ == "__main__":
    main()
