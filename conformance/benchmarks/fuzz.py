"""Fuzz every reader of files that others have written.

    python -m conformance.benchmarks.fuzz TARGET CORPUS [--seconds N] [--seed N]

TARGET is one of the names in `TARGETS`, or `all`. CORPUS is a folder of inputs, with a subfolder
for each target. It is created from the project's own files if it does not exist, and it grows: keep
it between two runs. An input that a reader cannot take must end in one clear error (`EXPECTED`).
Any other exception is a crash, and so is an input that takes longer than `SLOW` seconds. The input
of a crash is written to CORPUS/TARGET-crashes, and the exit code is 1.

If atheris is installed (`pip install atheris`), it chooses the inputs by coverage. Otherwise, they
are random changes of the corpus, and the same seed gives the same inputs.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import io
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from conformance import configuration
from conformance.conclusions import stored_reports
from conformance.conclusions.report_merge import merge_reports
from conformance.definitions import locations, protocols
from conformance.exits import WrongUsage
from conformance.judging import recordings
from conformance.live.sides import sides
from conformance.reporting import files
from conformance.reporting.summary import terminal_summary
from conformance.runtime.memory import catalog
from conformance.traffic import har, pcap, pcapng, raw
from mocks import script

EXPECTED = (WrongUsage, script.WrongScript, catalog.CatalogError)
"""The errors of a file that cannot be read; each has one line."""
SLOW = 10  # seconds; every seed takes less than a tenth of a second
MAX_SIZE = 256 * 1024  # bytes of an input
NAMES = ("vexide", "simspark", "deltarobot", "openroberta", "runtime")
SEEDS = 12  # files of each protocol that begin a corpus

Target = Callable[[Path], object]


def capture(path: Path) -> None:
    recordings.read(path)


def packets(path: Path) -> None:
    """Read packets as those of each protocol."""
    for name in NAMES:
        protocol = protocols.load(name)
        with contextlib.suppress(WrongUsage):
            foreign = pcap.read(path, protocol, sides(protocol, ""), ())
            recordings.judge_events(path, protocol, foreign.capture, foreign.numbers)


def archive(path: Path) -> None:
    protocol = protocols.load("openroberta")
    foreign = har.read(path, protocol, sides(protocol, "")[0])
    recordings.judge_events(path, protocol, foreign.capture, foreign.numbers)


def streams(path: Path) -> None:
    """Read bytes as those of each role."""
    for name in NAMES:
        protocol = protocols.load(name)
        for role in protocol.roles:
            foreign = raw.read(path, protocol, role)
            recordings.judge_events(path, protocol, foreign.capture, foreign.numbers, role)


def report(path: Path) -> None:
    """Merge a report with itself, and write it."""
    read = stored_reports.load(path)
    with tempfile.TemporaryDirectory() as folder:
        whole = merge_reports([(path, read), (path, stored_reports.load(path))], Path(folder))
        files.write(whole, Path(folder))
        terminal_summary(whole, Path(folder))


TARGETS: Mapping[str, Target] = {
    "capture": capture,
    "packets": packets,
    "archive": archive,
    "streams": streams,
    "report": report,
    "script": script.read,
    "configuration": configuration.load,
    "catalog": lambda path: catalog.load(path.read_bytes()),
}


# The corpus


def seeds(target: str) -> Iterator[bytes]:
    """Yield the inputs that a corpus begins with."""
    match target:
        case "capture":
            for path in _captures():
                yield path.read_bytes()
        case "packets":
            yield from _packets()
        case "streams":
            for path in _captures():
                yield b"".join(event.data or b"" for event in recordings.read(path).capture.events)
        case "archive":
            yield json.dumps({"log": {"entries": [_ENTRY, _ENTRY]}}).encode()
        case "report":
            yield (locations.reports() / "sample" / "report.json").read_bytes()
        case "script":
            yield _SCRIPT
        case "configuration":
            yield _CONFIGURATION
        case "catalog":
            yield _CATALOG


def _captures() -> Iterator[Path]:
    for name in NAMES:
        found = sorted((locations.folder("captures", name) or Path()).glob("*.jsonl"))
        small = [path for path in found if path.stat().st_size < MAX_SIZE // 8]
        yield from small[:: len(small) // SEEDS + 1]


def _packets() -> Iterator[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        for path in _captures():
            session = recordings.read(path)
            written = Path(folder) / "packets"
            with contextlib.suppress(WrongUsage):
                pcapng.write(written, session.capture, session.protocol)
                yield written.read_bytes()


_ENTRY = {
    "startedDateTime": "2026-01-01T00:00:00Z",
    "time": 5,
    "connection": "1",
    "request": {
        "method": "POST",
        "url": "http://lab/rest/pushcmd",
        "headers": [{"name": "Content-Type", "value": "application/json"}],
        "postData": {"text": '{"cmd": "push", "token": "ABCDEFGH"}'},
    },
    "response": {
        "status": 200,
        "statusText": "OK",
        "headers": [],
        "content": {"size": 17, "text": '{"cmd": "repeat"}'},
    },
    "timings": {"send": 1, "wait": 1, "receive": 1},
}
_SCRIPT = b"""\
- when: Handshake
- at: 0.5
  send: {Log: {level: Warn, message: &m "text"}}
- expect: [StartExecution, {name: Touch, value: {x: 1}}]
  within: 10
- hex: 00ff
- disconnect: true
"""
_CONFIGURATION = b"""\
[iut]
role = "vexide/simulator"
command = ["./simulator", "{port}"]
env = { A = "1" }
[timing]
startup = 20
[programs]
print = "p.bin"
[unsupported]
sdcard = "no slot"
[known-failures]
"exit.error-log" = { reason = "2.0", until = 2027-06-30 }
"""
_CATALOG = b"""\
LimitSwitch:
  device_id: 0
  delay: 50
  params:
    - {name: switch0, type: bool, readable: true, subscribed: true}
    - {name: duty, type: "float[4]", lower: -1, upper: 1.5, writeable: true}
"""


def prepare(folder: Path, target: str) -> None:
    """Create the corpus of a target if there is none."""
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    for data in seeds(target):
        _keep(folder, data)


def _keep(folder: Path, data: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:16]
    path.write_bytes(data)
    return path


# Inputs


class TooSlow(Exception):
    """An input took longer than `SLOW` seconds."""


def attempt(target: str, data: bytes, place: Path) -> None:
    """Let a reader read these bytes. Raises an exception that is not expected."""
    path = place / f"input{har.SUFFIX if target == 'archive' else ''}"
    path.write_bytes(data)
    with contextlib.suppress(*EXPECTED), contextlib.redirect_stdout(io.StringIO()):
        TARGETS[target](path)


_PIECES = (
    b"",
    b"\0",
    b"\xff" * 8,
    b"-1",
    b"1e999",
    b"9" * 400,
    b"null",
    b"[" * 400,
    b"{}",
    b"\n..",
)


def changed(data: bytes, others: list[bytes], chosen: random.Random) -> bytes:
    """Return a random change of an input."""
    changing = bytearray(data)
    for _ in range(chosen.choice((1, 1, 2, 4, 8))):
        at = chosen.randrange(len(changing) + 1)
        until = min(len(changing), at + chosen.choice((0, 1, 1, 2, 4, 16, 64)))
        match chosen.randrange(4):
            case 0:
                changing[at:until] = chosen.choice(_PIECES)
            case 1:
                changing[at:until] = chosen.randbytes(until - at)
            case 2:
                other = chosen.choice(others)
                start = chosen.randrange(len(other) + 1)
                changing[at:until] = other[start : start + chosen.choice((1, 8, 64, 512))]
            case 3:
                changing[at:at] = changing[at:until] * chosen.choice((1, 2, 50))
    return bytes(changing[:MAX_SIZE])


def _late(number: int, frame: FrameType | None) -> None:
    raise TooSlow(f"it took longer than {SLOW} s")


def mutate(target: str, corpus: Path, seconds: float, seed: int, most: int | None = None) -> int:
    """Try changes of a corpus for some seconds; return the number of crashes."""
    chosen = random.Random(f"{target} {seed}")
    inputs = [path.read_bytes() for path in sorted(corpus.iterdir())]
    until, tried, crashes = time.monotonic() + seconds, 0, 0
    signal.signal(signal.SIGALRM, _late)
    with tempfile.TemporaryDirectory() as place:
        while time.monotonic() < until and (most is None or tried < most):
            data = inputs[tried] if tried < len(inputs) else None
            data = changed(chosen.choice(inputs), inputs, chosen) if data is None else data
            tried += 1
            signal.alarm(SLOW)
            try:
                attempt(target, data, Path(place))
            except Exception:
                crashes += 1
                kept = _keep(corpus.with_name(f"{target}-crashes"), data)
                print(f"{target}: {kept}:\n{traceback.format_exc(limit=-4)}")
            finally:
                signal.alarm(0)
    print(f"{target}: {tried} inputs, {crashes} crashes", flush=True)
    return crashes


def by_coverage(target: str, corpus: Path, seconds: int) -> None:
    """Let atheris choose the inputs; it ends the process."""
    atheris: Any = importlib.import_module("atheris")  # optional: missing for a type checker

    with tempfile.TemporaryDirectory() as place:
        crashes = corpus.with_name(f"{target}-crashes")
        crashes.mkdir(exist_ok=True)
        words = [sys.argv[0], str(corpus), f"-artifact_prefix={crashes}/", f"-max_len={MAX_SIZE}"]
        atheris.instrument_all()
        atheris.Setup(
            [*words, f"-timeout={SLOW}", f"-max_total_time={seconds}"],
            lambda data: attempt(target, data, Path(place)),
        )
        atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.fuzz")
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    chosen = [*TARGETS] if args.target == "all" else [args.target]
    for target in chosen:
        prepare(args.corpus / target, target)
    if importlib.util.find_spec("atheris") is None:
        crashes = [mutate(t, args.corpus / t, args.seconds, args.seed) for t in chosen]
        return 1 if any(crashes) else 0
    if args.target == "all":
        words = [sys.executable, "-m", "conformance.benchmarks.fuzz"]
        ended = [
            subprocess.call([*words, t, str(args.corpus), "--seconds", str(args.seconds)])
            for t in chosen
        ]
        return 1 if any(ended) else 0
    by_coverage(args.target, args.corpus / args.target, args.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
