"""The reference mocks of all roles: the suite reaches each; their faults are what they must be."""

from importlib import import_module

import pytest

from conformance import protocols
from conformance.selftest.driving import Place
from mocks import deviations

ROLES = [str(role) for name in protocols.names() for role in protocols.load(name).roles.values()]


@pytest.mark.parametrize("role", ROLES)
def test_the_suite_reaches_it(role: str, place: Place) -> None:
    """Started as its configuration says, it passes the smoke session and leaves nothing behind."""
    decides = import_module(protocols.role(role).package).SMOKE
    done = place.run(role, "--mock", "--requirement", decides)
    assert (done.code, done.smoke["verdict"], done.verdict(decides)) == (0, "pass", "pass"), (
        done.out
    )
    assert (done.left, done.litter) == ([], [])


@pytest.mark.parametrize("role", ROLES)
def test_every_tested_requirement_has_a_fault(role: str) -> None:
    bound = protocols.role_protocol(role).binding(protocols.role(role))
    tested = {entry.id for entry in bound if entry.tested != "no"}
    # A permission cannot be violated.
    wanted = {entry.id for entry in bound if entry.id in tested and entry.level != "may"}
    assert wanted <= {entry.requirement for entry in deviations.faults(role).values()} <= tested


@pytest.mark.parametrize("role", ROLES)
def test_a_third_of_the_faults_is_subtle(role: str) -> None:
    faults = deviations.faults(role).values()
    assert sum(entry.subtle for entry in faults) * 3 >= len(faults)
    assert all(entry.summary.endswith(".") and "\n" not in entry.summary for entry in faults)
