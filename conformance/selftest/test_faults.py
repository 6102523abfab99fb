"""The faults of all mocks: each violates what is tested, and all that is tested is violated."""

import pytest

from conformance import specs
from mocks import fault

ROLES = [str(role) for name in specs.names() for role in specs.load(name).roles.values()]


@pytest.mark.parametrize("role", ROLES)
def test_every_tested_requirement_has_a_fault(role: str) -> None:
    bound = specs.role_protocol(role).binding(specs.role(role))
    tested = {entry.id for entry in bound if entry.tested != "no"}
    # A permission cannot be violated.
    wanted = {entry.id for entry in bound if entry.id in tested and entry.level != "may"}
    assert wanted <= {entry.requirement for entry in fault.faults(role).values()} <= tested


@pytest.mark.parametrize("role", ROLES)
def test_a_third_of_the_faults_is_subtle(role: str) -> None:
    faults = fault.faults(role).values()
    assert sum(entry.subtle for entry in faults) * 3 >= len(faults)
    assert all(entry.summary.endswith(".") and "\n" not in entry.summary for entry in faults)
