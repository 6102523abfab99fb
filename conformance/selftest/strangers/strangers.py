"""Build the strangers, run the suite against them, and compare its report with the table."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SOURCES = (".c", ".go", ".java", ".mjs", ".pl", ".py", ".rs")
"""The suffixes of the programs."""
TIMEOUT = 600  # seconds that one run or one build can take on a busy machine


@dataclass(frozen=True)
class Culprit:
    """The message that ends the session: its kind, and its relevant members."""

    message: str
    """The name of the kind, or "any" if the mistake does not depend on the kind."""
    value: str = ""


@dataclass(frozen=True)
class Switch:
    """A deliberate mistake of a program, or a pair of mistakes."""

    name: str
    """The word on the command line; a pair has two words with a comma between them."""
    kind: str
    """``death``, ``closed`` (by the program), ``silence``, ``content`` (wrong) or ``pair``."""
    says: str
    fails: tuple[str, ...]
    """Requirements that the program violates. The suite must report each as fail or warn.

    In an entry "a or b" one of both must be reported. The first entry describes the mistake best. A
    cause must name this requirement if it does not name the culprit.
    """
    may: tuple[str, ...] = ()
    """Other requirements that can fail because of the mistake."""
    culprits: tuple[Culprit, ...] = ()
    sample: bool = False
    """True if the switch belongs to the fixed sample that every test run tries."""


@dataclass(frozen=True)
class Stranger:
    """A program: how it is built and started, and its switches by name."""

    name: str
    language: str
    role: str
    tool: str
    """The executable that must be installed."""
    build: tuple[str, ...]
    """The command that builds the program, empty for a script."""
    command: tuple[str, ...]
    options: dict[str, Any]
    """Further tables of conformance.toml, and members of its table iut."""
    switches: dict[str, Switch] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """The results of a run of the suite."""

    code: int
    report: dict[str, Any]
    seconds: float


class BuildError(Exception):
    """The program does not compile. The text is the output of the compiler."""


def table() -> dict[str, Stranger]:
    """All strangers by name, in the order of the table."""
    data = yaml.safe_load((HERE / "table.yaml").read_text())
    return {name: _stranger(name, entry) for name, entry in data.items()}


def _stranger(name: str, entry: dict[str, Any]) -> Stranger:
    return Stranger(
        name=name,
        language=entry["language"],
        role=entry["role"],
        tool=entry["tool"],
        build=tuple(entry.get("build", ())),
        command=tuple(entry["command"]),
        options=entry.get("options", {}),
        switches={word: _switch(word, each) for word, each in entry["switches"].items()},
    )


def _switch(name: str, entry: dict[str, Any]) -> Switch:
    return Switch(
        name=name,
        kind=entry["kind"],
        says=entry["says"],
        fails=tuple(entry["fails"]),
        may=tuple(entry.get("may", ())),
        culprits=tuple(Culprit(**each) for each in entry.get("culprits", ())),
        sample=entry.get("sample", False),
    )


def build(stranger: Stranger, folder: Path) -> None:
    """Build the program into this folder, once for all processes that share the folder.

    Raises BuildError with the output of the compiler.
    """
    if not stranger.build:
        return
    with (folder / f"{stranger.name}.built").open("a+") as marker:
        fcntl.flock(marker, fcntl.LOCK_EX)
        if os.fstat(marker.fileno()).st_size:
            return
        done = subprocess.run(
            _filled(stranger.build, folder),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise BuildError(done.stdout)
        marker.write("built\n")


def available(stranger: Stranger) -> bool:
    return stranger.tool == "python" or shutil.which(stranger.tool) is not None


def run(stranger: Stranger, switch: str, built: Path, folder: Path) -> Run:
    """Run the suite against the program with this switch, in an empty folder; "" is sound."""
    command = [*_filled(stranger.command, built), *([switch] if switch else [])]
    (folder / "conformance.toml").write_text(_configuration(stranger, command))
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "conformance", "run", "--report", "report"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    seconds = time.perf_counter() - began
    written = folder / "report" / "report.json"
    if not written.exists():
        raise RuntimeError(f"no report, exit code {done.returncode}: {done.stdout[-2000:]}")
    return Run(done.returncode, json.loads(written.read_text()), seconds)


def _filled(words: tuple[str, ...], built: Path) -> list[str]:
    # The suite replaces its own placeholders in braces later.
    places = {"{python}": sys.executable, "{here}": str(HERE), "{built}": str(built)}
    filled = []
    for word in words:
        for name, value in places.items():
            word = word.replace(name, value)
        filled.append(word)
    return filled


def _configuration(stranger: Stranger, command: list[str]) -> str:
    """Return conformance.toml. Its values are written as JSON, which TOML allows."""
    options = dict(stranger.options)
    iut = {"role": stranger.role, "command": command, **options.pop("iut", {})}
    lines = []
    for title, members in {"iut": iut, **options}.items():
        lines.append(f"[{title}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in members.items()]
    return "\n".join(lines) + "\n"


def violated(report: dict[str, Any]) -> dict[str, str]:
    """The verdict of each requirement that failed or warned."""
    bad = ("fail", "warn")
    return {
        each["id"]: each["verdict"] for each in report["requirements"] if each["verdict"] in bad
    }


def first_cause(report: dict[str, Any]) -> str:
    """Return a line about the cause that the report names first."""
    if not report["causes"]:
        return "no cause"
    cause = report["causes"][0]
    return f"{cause['kind']} {cause['requirement'] or ''}: {cause['what']}"


def wrong_verdicts(switch: Switch, report: dict[str, Any]) -> list[str]:
    """Requirements that should have failed or should not have, one sentence each."""
    found = violated(report)
    wrong = [f"{each} is not violated" for each in switch.fails if not found.keys() & _either(each)]
    expected = {*switch.may, *(name for each in switch.fails for name in _either(each))}
    wrong += [
        f"{name} fails and is not expected to"
        for name, verdict in found.items()
        if verdict == "fail" and name not in expected
    ]
    return wrong


def _either(alternatives: str) -> list[str]:
    return alternatives.split(" or ")


def wrong_causes(switch: Switch, report: dict[str, Any]) -> list[str]:
    """Return the first cause if it is wrong, and the mistakes without a cause.

    A first cause is wrong if it is no mistake of the switch. Each mistake of a pair needs a cause.
    """
    causes = report["causes"]
    wrong = []
    if not causes or not _is_mistake(switch, causes[0]):
        wrong.append(f"the first cause is wrong: {first_cause(report)}")
    if switch.kind == "pair":
        named = {name for cause in causes for name in cause["requirements"]}
        wrong += [f"no cause names {each}" for each in switch.fails if not named & {*_either(each)}]
        deaths = [cause for cause in causes if cause["kind"] == "end" and cause["culprit"]]
        if deaths and not any(_is_mistake(switch, death) for death in deaths):
            wrong.append(f"no death names the culprit: {deaths[0]['what']}")
    return wrong


def _is_mistake(switch: Switch, cause: dict[str, Any]) -> bool:
    """Return True if a cause names the culprit, or a requirement of the mistake.

    A culprit that was not shown is one of the candidates.
    """
    culprit = cause["culprit"]
    if cause["kind"] == "end" and culprit and switch.culprits:
        kinds = {each.message for each in switch.culprits}
        labels = [culprit["message"]] if culprit["shown"] else culprit["candidates"]
        return "any" in kinds or bool(kinds & {each.split()[0] for each in labels})
    named = {*cause["requirements"]}
    return any(named & {*_either(each)} for each in switch.fails)


def replays(report: dict[str, Any]) -> int:
    """The number of sessions that were played to isolate causes."""
    return sum((cause["culprit"] or {"replays": 0})["replays"] for cause in report["causes"])
