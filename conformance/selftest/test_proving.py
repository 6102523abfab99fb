"""Faults of mocks: a fault is killed only if the first cause names its requirement."""

import pytest

from conformance.proving import proof
from conformance.proving.planning import FAULT, PAIR, Trial
from conformance.selftest.report_fixtures import minimal


@pytest.mark.parametrize(
    ("kind", "second", "named", "wrong"),
    [
        (FAULT, "", [["a.own"]], False),
        (FAULT, "", [["a.other", "a.own"]], False),
        (FAULT, "", [["a.other"], ["a.own"]], True),
        (FAULT, "", [], True),
        (PAIR, "a.second", [["a.second"], ["a.own"]], False),
        (PAIR, "a.second", [["a.own"]], True),
    ],
)
def test_the_cause_names_the_requirement(
    kind: str, second: str, named: list[list[str]], wrong: bool
) -> None:
    """Each fault of a pair has a cause."""
    report = minimal("fail")
    [cause] = report["causes"]
    report["causes"] = [cause | {"requirement": names[0], "requirements": names} for names in named]
    trial = Trial("vexide/simulator", "stdio", kind, "name", "a.own", second=second)
    assert bool(proof._wrong_cause(report, trial)) == wrong
