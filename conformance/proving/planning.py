"""Plan the trials of a proof: runs against mocks that show what the suite finds."""

import contextlib
import multiprocessing
import random
import re
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from conformance import configuration
from conformance.definitions import protocols
from conformance.harness.transports import transport
from conformance.running.collection import cases
from mocks.deviations import COMPANY, deviating, faults, variants

FAULT, VARIANT, MUTANT, PAIR = "fault", "variant", "mutant", "pair"
SOUND, SPARED, KILLED, IDLE = "sound", "spared", "killed", "never applied"
STOPPED = "the smoke session fails for one"
SURVIVED, WRONG, WRONG_CAUSE, FALSE_ALARM, BROKEN, SPREADS, HIDDEN, UNSHOWN = (
    "SURVIVED",
    "wrong requirement",
    "WRONG CAUSE",
    "FALSE ALARM",
    "NO RESULT",
    "SPREADS",
    "ONE HIDDEN",
    "NOT SHOWN",
)

_AND = "+"  # between the names of a pair
_ENDS = re.compile("dies|closes|crash|kill|ends|exits|leaves")
"""Words in the names of faults that end sessions."""


@dataclass
class Trial:
    """A run of the suite against the mock of a role, and its result.

    - ``kind``: fault, variant, mutant or pair; empty for the sound mock
    - ``name``: the name of the deviation; for a pair, both names
    - ``others``: further violated requirements; for the sound mock, all that did not pass
    - ``whole``: the run is not limited to the tests of its own requirement
    - ``company``: the number of other requirements that a fault can violate
    - ``second``: the requirement of the second fault of a pair
    - ``shown``: the requirements whose tests receive a mutant's message; they are tried first
    """

    role: str
    transport: str
    kind: str = ""
    name: str = ""
    requirement: str = ""
    subtle: bool = False
    verdict: str = ""
    seconds: float = 0.0
    others: list[str] = field(default_factory=list)
    whole: bool = False
    detail: str = ""
    company: int = COMPANY
    second: str = ""
    shown: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return self.verdict in (SOUND, SPARED, KILLED, IDLE, STOPPED)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def words(self, report: Path | None = None) -> list[str]:
        """Return the arguments of ``conformance`` that repeat this trial."""
        words = ["run", self.role, "--transport", self.transport]
        words += ["--report", str(report)] if report else []
        if self.kind == PAIR:
            words += [word for name in self.name.split(_AND) for word in ("--fault", name)]
        elif self.kind:
            words += [f"--{self.kind}", self.name]
        own = [self.requirement, self.second] if self.second else [self.requirement]
        tried = self.shown if self.whole else own
        words += [word for name in tried for word in ("--requirement", name)]
        if self.kind != MUTANT:
            return words
        return [*words, "--no-isolate", "--", "--pytest", "-x", "-p", "no:terminal"]


def trials(role: str, names: Sequence[str] = (), whole: bool = False) -> list[Trial]:
    """Plan the sound mock over each transport that is needed, then faults and variants.

    With ``names``, only these faults and variants are planned, without the sound mock. ``whole``:
    each fault runs all tests.
    """
    usual = transport(configuration.mock_configuration(protocols.role(role)))
    declared = [(FAULT, fault) for fault in faults(role).values()]
    declared += [(VARIANT, variant) for variant in variants(role).values()]
    chosen = [(kind, one) for kind, one in declared if not names or one.name in names]
    over = [one.needs.get("transport", usual) for _, one in chosen]
    sound = (
        [] if names else [Trial(role, each, whole=True) for each in dict.fromkeys([usual, *over])]
    )
    decided = decided_requirements(role)
    return sound + [
        Trial(
            role,
            each,
            kind,
            one.name,
            one.requirement,
            one.subtle,
            whole=whole or kind == VARIANT or one.requirement not in decided,
            company=one.company,
        )
        for (kind, one), each in zip(chosen, over, strict=True)
    ]


def pairs(role: str, number: int, seed: int, ending: bool = False) -> list[Trial]:
    """Plan ``number`` pairs of faults of a role's mock.

    A pair's requirements are not prerequisites of each other, so neither fault explains the other.
    ``ending``: exactly one fault of each pair ends sessions.
    """
    protocol = protocols.load(protocols.role(role).protocol)
    usual, decided = (
        transport(configuration.mock_configuration(protocols.role(role))),
        decided_requirements(role),
    )
    known = [fault for fault in faults(role).values() if fault.requirement in decided]
    both = list(combinations(known, 2))
    random.Random(f"{role} {seed}").shuffle(both)
    found: list[Trial] = []
    for one, other in both:
        ids = (one.requirement, other.requirement)
        bound = any(a in [b, *protocol.prerequisites(b)] for a, b in (ids, ids[::-1]))
        if len(found) == number or bound or one.needs != other.needs:
            continue
        ends = [bool(_ENDS.search(each.name)) for each in (one, other)]
        if ending and ends not in ([True, False], [False, True]):
            continue
        # Both faults can replace the same part of a mock, so that no class combines them.
        with contextlib.suppress(TypeError):
            deviating(role, [one.name, other.name])
            over, name = one.needs.get("transport", usual), f"{one.name}{_AND}{other.name}"
            found.append(Trial(role, over, PAIR, name, ids[0], second=ids[1]))
    return found


def decided_requirements(role: str) -> set[str]:
    """Return the requirements of a role that test cases decide."""
    # Collected in another process, because test cases imported here would not get the settings of
    # any run.
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as elsewhere:
        return {case.requirement for case in elsewhere.submit(cases, protocols.role(role)).result()}


def unproven_requirements(role: str) -> list[str]:
    """Return the requirements of a role that are tested by wire and have no fault.

    Requirements of level may are permissions, which cannot be violated.
    """
    violated = {fault.requirement for fault in faults(role).values()}
    found = protocols.role(role)
    bound = protocols.load(found.protocol).requirements_for(found)
    tested = [r.id for r in bound if r.tested == "wire" and r.level != "may"]
    return [name for name in tested if name not in violated]


def readings_without_variant(role: str) -> list[str]:
    """Return the readings of a role that have no variant."""
    taken = {variant.requirement for variant in variants(role).values()}
    found = protocols.role(role)
    bound = protocols.load(found.protocol).requirements_for(found)
    return [r.id for r in bound if r.origin == "reading" and r.id not in taken]
