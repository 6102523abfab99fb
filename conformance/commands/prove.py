"""Prove the suite: every fault of every mock must be found, and the sound mocks must pass.

Prints the kill matrix. A fault is killed if the requirement that it violates is reported. Exit 0 if
all are killed and the sound mocks pass everything, else 1.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance import proof, protocols
from conformance.collection import CollectionError
from conformance.configuration import ConfigurationError
from conformance.outcome import CONFORMANT, NONCONFORMANT, SUITE_FAILED
from conformance.proof import Trial
from conformance.reporting.text import one_line
from mocks import deviations


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROTOCOL[/ROLE]", nargs="?", default="")
    parser.add_argument(
        "--fault", metavar="NAME", action="append", default=[], help="only this fault, of one role"
    )
    parser.add_argument("-j", dest="jobs", metavar="JOBS", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the kill matrix")


def execute(args: argparse.Namespace) -> int:
    roles = _roles(args.name)
    if args.jobs < 1:
        raise ConfigurationError(f"-j {args.jobs}: expected one job or more")
    if args.fault and len(roles) > 1:
        raise ConfigurationError(f"--fault needs one role: {' or '.join(roles)}")
    for name in args.fault:
        known = deviations.faults(roles[0])
        if name not in known:
            raise protocols.UnknownName("fault", name, list(known))
    try:
        planned = {role: proof.trials(role, args.fault) for role in roles}
    except CollectionError as error:
        print(f"conformance: the tests cannot be collected: {error}", file=sys.stderr)
        return SUITE_FAILED
    # To be told to end is the same as Ctrl-C: whatever runs is ended first.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for role, trials in planned.items():
            _prove(role, trials, args.jobs)
    finally:
        signal.signal(signal.SIGTERM, before)
    everything = [trial for trials in planned.values() for trial in trials]
    print(_summary(everything))
    if args.json:
        matrix = {
            "trials": [trial.to_json() for trial in everything],
            "unproven": {role: proof.unproven(role) for role in roles},
        }
        args.json.write_text(json.dumps(matrix, indent=1) + "\n", encoding="utf-8")
    return CONFORMANT if all(trial.good for trial in everything) else NONCONFORMANT


def _roles(name: str) -> list[str]:
    """The roles that are meant and have a mock. Raises UnknownName or ConfigurationError."""
    known = deviations.roles()
    protocol, _, role = name.partition("/")
    if role:
        protocols.role(name)
    elif protocol:
        protocols.load(protocol)
    chosen = [each for each in known if not name or each == name or each.startswith(f"{name}/")]
    if not chosen:
        raise ConfigurationError(
            f"no mock plays {name or 'any role'}; there are {', '.join(known)}"
        )
    return chosen


def _prove(role: str, trials: Sequence[Trial], jobs: int) -> None:
    """Run the trials of a role; a row of the matrix is printed as soon as it is known."""
    print(role)
    names = max((len(trial.fault) for trial in trials), default=0)
    requirements = max((len(trial.requirement) for trial in trials), default=0)
    done = 0

    def told(trial: Trial) -> None:
        nonlocal done
        done += 1
        _progress("")
        mark = "~" if trial.subtle else " "
        name = trial.fault or f"(none, over {trial.transport})"
        row = f"{mark} {name:{names}}  {trial.requirement:{requirements}}  {trial.verdict}"
        row += " by other tests" if trial.whole and trial.verdict == proof.KILLED else ""
        also = f"  also {one_line(', '.join(trial.others), 300)}" if trial.others else ""
        print(f"{row}  {trial.seconds:.1f} s{also}", flush=True)
        if trial.detail and not trial.good:
            print(f"    > {one_line(trial.detail, 400)}", flush=True)
        _progress(f"{role}: {done} of {len(trials)} trials")

    try:
        proof.prove(trials, jobs, told)
    finally:
        _progress("")
    if unproven := proof.unproven(role):
        print(f"  without any fault: {', '.join(unproven)}")
    print()


def _progress(text: str) -> None:
    """One line at the bottom of a terminal, which the next one replaces."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _summary(trials: Sequence[Trial]) -> str:
    faulty = [trial for trial in trials if trial.fault]
    sound = [trial for trial in trials if not trial.fault]
    killed = sum(trial.good for trial in faulty)
    text = (
        f"{killed} of {len(faulty)} faults killed (~ marks {sum(t.subtle for t in faulty)} subtle)"
    )
    if not sound:
        return f"{text}; the sound mock was not tried"
    bad = [trial for trial in sound if not trial.good]
    return f"{text}; the sound mocks " + ("do not pass" if bad else "pass everything")
