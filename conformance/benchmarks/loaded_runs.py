"""Measure the effect of a busy machine on runs of each role's sound mock.

    python -m conformance.benchmarks.loaded_runs [--variants] [ROLE…]

For each run under load, the program prints the verdicts that differ from those of the run alone,
and the ratio of the durations. With `--variants`, every lawful variant also runs under load. Exit 1
if a verdict became a violation, or if more than 2 % of a role's requirements became inconclusive.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conformance.definitions import locations, protocols
from conformance.verdicts import VIOLATIONS, Verdict
from mocks.deviations import variants

EACH = 2  # busy processes for each core
MAX_INCONCLUSIVE = 0.02  # share of a role's requirements that can become inconclusive

_BUSY = "while True: pass"


@contextlib.contextmanager
def load() -> Iterator[None]:
    """Keep every core busy during the block, with more processes than there are cores."""
    busy = [
        subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(EACH * (os.cpu_count() or 1))
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def run(*words: str) -> tuple[dict[str, Any], float]:
    """Run the suite; return its report and its duration in seconds."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "conformance", "run", *words, "--report", folder]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        took = time.perf_counter() - began
        report: dict[str, Any] = json.loads((Path(folder) / "report.json").read_text("utf-8"))
        return report, took


def worse(report: dict[str, Any], alone: dict[str, Any]) -> Counter[str]:
    """Count the requirements whose verdict differs from the run alone, by their new verdict."""
    before = {entry["id"]: entry["verdict"] for entry in alone["requirements"]}
    changed = [e["verdict"] for e in report["requirements"] if e["verdict"] != before[e["id"]]]
    return Counter(changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--variants", action="store_true")
    parser.add_argument("roles", metavar="ROLE", nargs="*")
    args = parser.parse_args()
    bad = 0
    print(f"{'':52}{'× alone':>8}  verdicts that differ from the run alone")
    for role in args.roles or protocols.roles():
        names = variants(role) if args.variants else ()
        sound, seconds = run(role, "--mock")
        for name in ("", *names):
            words = ("--variant", name) if name else ("--mock",)
            alone, quiet = run(role, *words) if name else (sound, seconds)
            with load():
                report, took = run(role, *words)
            changed = worse(report, alone)
            share = changed[Verdict.INCONCLUSIVE] / len(report["requirements"])
            bad += any(changed[verdict] for verdict in VIOLATIONS) or share > MAX_INCONCLUSIVE
            counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(changed.items()))
            print(f"{f'{role} {name}':52}{took / quiet:8.1f}  {counts or 'none'}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    locations.extend_packages()
    sys.exit(main())
