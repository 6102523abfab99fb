"""Measure the suite's duration against the mock, as a ratio to a bare replay.

The suite runs one example per property and one test at a time. Its transcripts then contain every
session, except the earlier sessions of a few tests. Each session is then replayed without the
suite: a fresh process gets the same writes, each after as much output as in the transcript. The
replay decodes, judges and writes nothing, and has no timeouts that must pass.
"""

import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from conformance import configuration
from conformance.configuration import expand
from conformance.definitions import protocols
from conformance.judging import captures
from conformance.judging.captures import Capture

ROLE = "vexide/simulator"
ROUNDS = 3  # of which the median counts
OUTPUT_TIMEOUT = 1.0  # seconds to wait for output: another run of a program can print less


def main() -> None:
    ratios = []
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        for _ in range(ROUNDS):
            judged = suite(Path(folder))
            recorded = [captures.read(path) for path in Path(folder, "transcripts").iterdir()]
            began = time.perf_counter()
            for capture in recorded:
                replay(capture)
            bare = time.perf_counter() - began
            ratios.append(judged / bare)
            print(f"suite {judged:5.1f} s   replay of {len(recorded)} sessions {bare:5.1f} s")
    print(f"ratio {sorted(ratios)[ROUNDS // 2]:.2f}  (median of {ROUNDS})")


def suite(folder: Path) -> float:
    """Return the duration of a whole run in seconds."""
    words = [
        sys.executable,
        "-m",
        "conformance",
        "run",
        ROLE,
        "--mock",
        "-n",
        "1",
        "--examples",
        "1",
    ]
    began = time.perf_counter()
    subprocess.run([*words, "--report", str(folder)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def replay(capture: Capture) -> None:
    chosen = configuration.mock_configuration(protocols.role(ROLE))
    default = next(iter(chosen.programs))
    program = chosen.programs[str(capture.extra.get("program") or default)]
    argv = [expand(word, {"program": program}) for word in chosen.command]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=nowhere) as process:
        assert process.stdin and process.stdout
        output = process.stdout.fileno()
        outstanding = 0
        for event in capture.events:
            if event.sender == "simulator":
                outstanding += len(event.data or b"")
                continue
            outstanding = drain(output, outstanding)
            if event.event == "closed":
                process.stdin.close()
            elif event.data:
                try:
                    os.write(process.stdin.fileno(), event.data)
                except BrokenPipeError:
                    break
        drain(output, outstanding)
        process.stdin.close()
        process.kill()


def drain(output: int, outstanding: int) -> int:
    """Read up to ``outstanding`` bytes; return the number of missing bytes.

    The number is negative if more bytes came.
    """
    until = time.perf_counter() + OUTPUT_TIMEOUT
    while outstanding > 0 and (left := until - time.perf_counter()) > 0:
        ready, _, _ = select.select([output], [], [], left)
        if not ready or not (data := os.read(output, 65536)):
            break
        outstanding -= len(data)
    return outstanding


if __name__ == "__main__":
    main()
