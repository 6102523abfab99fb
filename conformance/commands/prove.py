"""Prove the suite: every fault of every mock is found, and every lawful variant passes.

The command prints the kill matrix. These rules decide the result:

- A fault is killed if its requirement is violated and the first cause names it.
- The sound mock must pass all tests.
- A variant must not fail. Only the requirement that the variant is about can warn.
- A fault can violate at most three further requirements, or as many as it declares. If it violates
  more, the fault spreads and the proof fails.

With --mutants N, N generated changes of messages are tried instead. A mutant is killed by any
finding; otherwise it is reported as a survivor. With --pairs N, N pairs of faults are tried. Causes
must name both faults, except if one of them makes the smoke session fail. With --ending-pairs N,
one fault of each pair ends sessions.

Exit codes: 0 if all trials had the required result, else 1.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.campaigns import engine
from conformance.configuration import ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.protocol import UnknownName
from conformance.exits import CONFORMANT, NONCONFORMANT, SUITE_FAILED
from conformance.proving import planning, proof
from conformance.proving.planning import Trial
from conformance.reporting import matrix
from conformance.reporting.table_page import write_tables
from conformance.reporting.text import one_line
from conformance.running.collection import CollectionError
from conformance.running.machine import Room, core_count
from mocks import deviations

_MUST = {
    planning.FAULT: "killed",
    planning.VARIANT: "spared (marked =)",
    planning.MUTANT: "killed",
    planning.PAIR: "reported",
}


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROTOCOL[/ROLE]", nargs="?", default="")
    parser.add_argument(
        "--fault", metavar="NAME", action="append", default=[], help="only this fault of one role"
    )
    parser.add_argument(
        "--variant",
        metavar="NAME",
        action="append",
        default=[],
        help="only this variant of one role",
    )
    parser.add_argument(
        "--mutants",
        metavar="N",
        type=_number,
        default=0,
        help="try N mutants of each role, or all",
    )
    parser.add_argument(
        "--pairs", metavar="N", type=int, default=0, help="try N pairs of faults of each role"
    )
    parser.add_argument(
        "--ending-pairs",
        metavar="N",
        type=int,
        default=0,
        help="try N pairs of faults of each role, of which one ends sessions",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the choice of mutants and pairs"
    )
    parser.add_argument("--whole", action="store_true", help="try each fault with all tests")
    parser.add_argument(
        "-j",
        dest="jobs",
        metavar="JOBS",
        type=int,
        help="number of parallel trials (default: as many as keep all cores busy)",
    )
    parser.add_argument("--cluster", metavar="ADDR", help="run the trials on a Dask cluster")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the kill matrix as JSON")
    parser.add_argument("--page", metavar="FILE", type=Path, help="write the kill matrix as HTML")


def _number(text: str) -> int:
    return sys.maxsize if text == "all" else int(text)


def execute(args: argparse.Namespace) -> int:
    roles = _roles(args.name)
    _check(args, roles)
    try:
        planned = {role: _plan(args, role) for role in roles}
    except CollectionError as error:
        print(f"conformance: the tests cannot be collected: {error}", file=sys.stderr)
        return SUITE_FAILED
    # Each trial runs several tests in parallel itself.
    room = Room(args.jobs or core_count(), args.jobs or 3 * core_count())
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(engine.cluster(args.cluster)) if args.cluster else None
        if client:
            threads = max(sum(client.nthreads().values()), 1)
            room = Room(threads, threads)
        for role, trials in planned.items():
            _prove(role, trials, room, args.whole, client)
    everything = [trial for trials in planned.values() for trial in trials]
    print(_summary(everything))
    _write(args, roles, everything)
    return CONFORMANT if all(trial.is_good for trial in everything) else NONCONFORMANT


def _check(args: argparse.Namespace, roles: Sequence[str]) -> None:
    """Raise ConfigurationError or UnknownName if the options contradict each other."""
    if args.jobs is not None and args.jobs < 1:
        raise ConfigurationError(f"-j {args.jobs}: expected one job or more")
    for kind in (planning.FAULT, planning.VARIANT):
        for name in getattr(args, kind):
            if len(roles) > 1:
                raise ConfigurationError(f"--{kind} needs one role: {' or '.join(roles)}")
            known = getattr(deviations, f"{kind}s")(roles[0])
            if name not in known:
                raise UnknownName(kind, name, list(known))


def _plan(args: argparse.Namespace, role: str) -> list[Trial]:
    """Return the trials of a role."""
    if args.mutants:
        return proof.mutations(role, args.mutants, args.seed)
    if number := args.pairs or args.ending_pairs:
        return planning.pairs(role, number, args.seed, ending=bool(args.ending_pairs))
    return planning.trials(role, [*args.fault, *args.variant], args.whole)


def _write(args: argparse.Namespace, roles: Sequence[str], everything: Sequence[Trial]) -> None:
    """Write the kill matrix to the files that the options name."""
    if args.json:
        result = {
            "trials": [trial.to_json() for trial in everything],
            "unproven": {role: planning.unproven_requirements(role) for role in roles},
            "unspared": {role: planning.readings_without_variant(role) for role in roles},
        }
        args.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if args.page:
        shown = [(trial.to_json(), trial.is_good) for trial in everything]
        write_tables(
            args.page, "What the suite finds", [_summary(everything)], matrix.tables(shown)
        )


def _roles(name: str) -> list[str]:
    """Return the chosen roles that have a mock. Raises UnknownName or ConfigurationError."""
    known = protocols.roles()
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


def _prove(role: str, trials: Sequence[Trial], room: Room, whole: bool, client: Any = None) -> None:
    """Run the trials of a role; print each row of the matrix when its trial ends.

    ``whole``: every trial runs all tests, so rows do not say which tests found the fault.
    """
    print(role)
    if not trials:
        print("  no trials: this role sends no messages that could be changed\n")
        return
    names = max((len(trial.name) for trial in trials), default=0)
    requirements = max((len(trial.requirement) for trial in trials), default=0)
    done = 0

    def print_row(trial: Trial) -> None:
        nonlocal done
        done += 1
        _progress("")
        mark = "=" if trial.kind == planning.VARIANT else "~" if trial.subtle else " "
        name = trial.name or f"(none, over {trial.transport})"
        row = f"{mark} {name:{names}}  {trial.requirement:{requirements}}  {trial.verdict}"
        elsewhere = trial.whole and not whole and trial.kind == planning.FAULT and trial.is_good
        row += " by other tests" if elsewhere else ""
        also = f"  also {one_line(', '.join(trial.others), 300)}" if trial.others else ""
        print(f"{row}  {trial.seconds:.1f} s{also}", flush=True)
        if trial.detail and not trial.is_good:
            print(f"    > {one_line(trial.detail, 400)}", flush=True)
        _progress(f"{role}: {done} of {len(trials)} trials")

    try:
        proof.prove(trials, room, print_row, client)
    finally:
        _progress("")
    faulty = any(trial.kind == planning.FAULT for trial in trials)
    if faulty and (unproven := planning.unproven_requirements(role)):
        print(f"  without any fault: {', '.join(unproven)}")
    if any(not trial.kind for trial in trials) and (
        unspared := planning.readings_without_variant(role)
    ):
        print(f"  readings without any variant: {', '.join(unspared)}")
    found = [t for t in trials if t.verdict in (planning.KILLED, planning.SPREADS)]
    if spread := [len(trial.others) for trial in found if trial.kind == planning.FAULT]:
        mean = sum(spread) / len(spread)
        tried = "all tests" if whole else "the tests of its own requirement; --whole: by all"
        print(
            f"  requirements violated besides its own: {mean:.2f} on average, {max(spread)} at most"
            f" (by {tried})"
        )
    if whole and (sound := [trial.seconds for trial in trials if not trial.kind]):
        times = sorted((trial.seconds / max(sound), trial.name) for trial in trials if trial.kind)
        (usual, _), (longest, name) = times[len(times) // 2], times[-1]
        print(
            f"  times as long as the sound run: {usual:.1f} usually, {longest:.1f} at most ({name})"
        )
    print()


def _progress(text: str) -> None:
    """Replace the progress line at the bottom of a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _summary(trials: Sequence[Trial]) -> str:
    """Count the trials of each kind that had the required outcome."""
    parts = []
    for kind, as_it_must in _MUST.items():
        tried = [trial for trial in trials if trial.kind == kind and trial.verdict != planning.IDLE]
        good = sum(trial.is_good for trial in tried)
        subtle = sum(trial.subtle for trial in tried)
        if tried:
            marks = f" (~ marks {subtle} subtle)" if kind == planning.FAULT else ""
            parts.append(f"{good} of {len(tried)} {kind}s {as_it_must}{marks}")
    if idle := sum(trial.verdict == planning.IDLE for trial in trials):
        parts.append(f"{idle} mutants never applied")
    sound = [trial for trial in trials if not trial.kind]
    if not sound:
        parts.append("the sound mock was not tried")
    elif all(trial.is_good for trial in sound):
        parts.append("the sound mocks pass everything")
    else:
        parts.append("the sound mocks do not pass")
    return "; ".join(parts)
