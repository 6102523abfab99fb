"""The suite reaches the reference mocks of all roles."""

from importlib import import_module

import pytest

from conformance.definitions import protocols
from conformance.selftest.driving import Place


@pytest.mark.parametrize("role", protocols.roles())
def test_the_suite_reaches_it(role: str, place: Place) -> None:
    """The mock passes the smoke session with its own configuration, and leaves nothing behind."""
    decides = import_module(protocols.role(role).package).SMOKE
    done = place.run(role, "--mock", "--requirement", decides)
    assert (done.code, done.smoke["verdict"], done.verdict(decides)) == (0, "pass", "pass"), (
        done.out
    )
    assert (done.left, done.litter) == ([], [])
