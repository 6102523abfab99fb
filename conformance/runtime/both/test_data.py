"""get_update, which the text gives to the server: asked of whichever role offers it."""

from conformance.cases import requirement
from conformance.iut import Iut
from conformance.runtime.memory.taking import clears, takes


@requirement("get-update.values")
async def test_get_update(iut: Iut) -> None:
    """get_update answers the values in the read block whose bits are set."""
    await takes(iut, "get_update", "read")


@requirement("get-update.clears")
async def test_get_update_clears(iut: Iut) -> None:
    """get_update clears all bits."""
    await clears(iut, "get_update")
