"""Catalogs that are drawn: any valid catalog is accepted."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from conformance.definitions.keywords import short_json
from conformance.iut import Iut
from conformance.runtime.both import PLAIN
from conformance.runtime.memory.catalog import load
from conformance.runtime.memory.tester import ROBOT, Tester, memory_tester
from conformance.verdicts import Violation

ACCEPTED = "catalog.yaml"
_SPECIAL = {
    PLAIN: "catalog.optional-keys",
    "types.yaml": "catalog.types",
    "names.yaml": "catalog.names",
    "sixteen.yaml": "catalog.at-most-16",
    "many.yaml": "catalog.no-limit",
    "ignored.yaml": "catalog.ignored-keys",
}
"""Catalogs with one peculiarity that drawn catalogs have too, and its requirement."""


@contextlib.asynccontextmanager
async def open_with_drawn(iut: Iut, text: str) -> AsyncIterator[Tester]:
    """Open a session, and make the IUT read this catalog and report its layouts.

    Raises Violation of `ACCEPTED` if the IUT refuses. If the IUT also refuses a catalog with one
    peculiarity, the violated requirement is that of the peculiarity.
    """
    async with memory_tester(iut, None) as tester:
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            path = Path(folder) / "catalog.yaml"
            path.write_text(text, encoding="utf-8")
            tester.catalog = load(text)
            tester.session.note("catalog file", None, content=text)
            answer = await tester.ask("catalog", path=str(path))
            what = "this catalog"
            for type_ in tester.catalog if answer.ok else ():
                answer = await tester.ask("layout", type=type_)
                what = f"the type {type_} of this catalog"
                if not answer.ok:
                    break
        if not answer.ok:
            about = await iut.cached("refused catalogs", lambda: _refused(iut)) or ACCEPTED
            came = f"it was refused: {short_json(answer.why)}"
            # The requirement under test is not named, so that a smaller catalog is searched for.
            named = None if about == iut.requirement_id else about
            raise Violation(f"{what} to be accepted", came, named)
        yield tester


async def _refused(iut: Iut) -> str:
    """Return the requirement of the first special catalog that the IUT refuses, or ""."""
    async with memory_tester(Iut(iut.testbed, ""), None) as tester:
        for name, requirement in ((ROBOT, ""), *_SPECIAL.items()):
            try:
                await tester.check_understands(name)
            except Violation:
                return requirement
    return ""
