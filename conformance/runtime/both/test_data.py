"""Tests of get_update, an operation of the server, for any role that offers it."""

from conformance.cases import requirement
from conformance.iut import Iut
from conformance.runtime.memory.read_and_clear import (
    check_answers_bits,
    check_answers_whole,
    check_clears,
)


@requirement("get-update.values")
async def test_get_update(iut: Iut) -> None:
    """get_update answers the values in the read block whose bits are set."""
    await check_answers_bits(iut, "get_update", "read")


@requirement("get-update.clears")
async def test_get_update_clears(iut: Iut) -> None:
    """get_update clears all bits."""
    await check_clears(iut, "get_update")


@requirement("operations.atomic")
async def test_updates_under_contention(iut: Iut) -> None:
    """A thousand updates are read while another process writes, and no change is lost."""
    await check_answers_whole(iut, "get_update", "read")
