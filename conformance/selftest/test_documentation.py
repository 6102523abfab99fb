"""The pages for readers: every room has a page with good links and plain English."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.checks import english

ROOT = Path(__file__).parents[2]
ROOMS = ("captures", "conformance", "conformance/live", "mocks", "reports", "schemas")
OTHERS = (".github/CONTRIBUTING.md", ".github/SECURITY.md", "conformance/CHANGELOG.md")
PAGES = ("README.md", *(f"{room}/README.md" for room in ROOMS), *OTHERS)
MAX_LINES = 300  # lines of the main page: more is not read

_CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="installed without its checkout"
)


def prose(page: str) -> str:
    """Return the text of a page without code blocks."""
    return _CODE.sub("", (ROOT / page).read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", _CODE.sub("", page.read_text("utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


def sentences(page: str) -> Iterator[str]:
    """Yield the sentences of a page; cells of tables are separate texts."""
    for block in re.split(r"\n\s*\n|\n(?=[|#-])", prose(page)):
        cells = block.strip("| ").split(" | ") if block.startswith("|") else [block.lstrip("#- ")]
        for cell in cells:
            yield from english.sentences(_LINK.sub("X", cell))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), f"{page}: {link}"
        assert not anchor or anchor in anchors(target), f"{page}: {link}"


@pytest.mark.parametrize("page", PAGES)
def test_english_of_pages_is_plain(page: str) -> None:
    found = [
        f"{rule}: {sentence}"
        for sentence in sentences(page)
        for rule in english.broken_rules(sentence)
    ]
    assert not found, "\n".join(found)


def test_the_main_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) < MAX_LINES


@pytest.mark.parametrize("page", PAGES)
def test_modules_that_a_page_names_exist(page: str) -> None:
    """Paths in backticks that end in ``.py`` are files."""
    folder = (ROOT / page).parent
    for name in re.findall(r"`([a-z][\w/.]+\.py)`", prose(page)):
        if "/P/" in name:
            continue  # a protocol of the reader's
        known = any((place / name).is_file() for place in (folder, ROOT, ROOT / "conformance"))
        # A name without a folder can be a module of a protocol, such as codec.py.
        places = [*(ROOT / "conformance").rglob(name), *(ROOT / "mocks").rglob(name)]
        assert known or places, f"{page}: {name}"
