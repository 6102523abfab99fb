"""The page in a real browser: first view, filters, links, narrow and printed pages."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.reporting import page
from conformance.reporting.page import write_page
from conformance.selftest import browser
from conformance.selftest.browser import Browser
from conformance.selftest.report_fixtures import FOLDER, full, hostile, minimal, write_transcript

pytestmark = pytest.mark.skipif(not browser.installed(), reason=browser.MISSING)

ITEM_COUNT = "[...document.querySelectorAll('.item:not([hidden])')].length"
FILTER_TEXT = "document.querySelector('.filters output').textContent"
TYPE = """(() => {{ const field = document.querySelector('[name=text]'); field.value = {text};
    field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of the report with every verdict."""
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(page.render(full(), FOLDER), "utf-8")
    return path


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser.browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened
        assert not opened.complaints


def typed(seen: Browser, text: str) -> None:
    seen.ask(TYPE.format(text=json.dumps(text)))


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (390, 844)])
@pytest.mark.parametrize("dark", [False, True])
def test_the_first_failure_is_seen_at_once(
    seen: Browser, written: Path, width: int, height: int, dark: bool
) -> None:
    seen.size(width, height)
    seen.dark(dark)
    seen.open(written)
    first = "document.querySelector('#failures ~ .cause .said').getBoundingClientRect()"
    assert 0 < seen.ask(f"{first}.bottom") < height
    assert seen.ask("document.documentElement.scrollWidth") <= width
    assert seen.ask("scrollY") == 0


def test_search_and_its_state_in_the_address(seen: Browser, written: Path) -> None:
    seen.open(written)
    everything = seen.ask(ITEM_COUNT)
    typed(seen, "bold")  # a word that only the messages of one test contain
    found = seen.ask(ITEM_COUNT)
    assert 0 < found < everything
    assert seen.ask(FILTER_TEXT) == f"{found} of {everything} shown"
    assert seen.ask("location.hash") == "#text=bold"
    seen.open(written, "#text=bold")
    assert seen.ask(ITEM_COUNT) == found
    typed(seen, "no such word")
    assert (seen.ask(ITEM_COUNT), seen.ask(FILTER_TEXT)) == (0, "Nothing matches")
    seen.ask("document.querySelector('.filters [type=reset]').click()")
    seen.ask("new Promise(done => setTimeout(done))")
    assert (seen.ask(ITEM_COUNT), seen.ask("location.hash")) == (everything, "")


def test_counts_are_links(seen: Browser, written: Path) -> None:
    seen.open(written)
    failed = sum(e["verdict"] == "fail" for kind in ("requirements", "tests") for e in full()[kind])
    seen.ask("document.querySelector('.legend .fail a').click()")
    seen.ask("new Promise(done => setTimeout(done, 50))")
    assert (seen.ask(ITEM_COUNT), seen.ask("location.hash")) == (failed, "#verdict=fail")


def test_a_link_opens_what_is_folded_or_filtered_away(seen: Browser, written: Path) -> None:
    passed = next(test for test in full()["tests"] if test["verdict"] == "pass")
    anchor = page.test_anchor(passed["id"])
    seen.open(written, "#verdict=fail")
    assert seen.ask(f"document.getElementById('{anchor}').hidden")
    seen.ask(f"location.hash = '#{anchor}'")
    seen.ask("new Promise(done => setTimeout(done, 50))")
    assert seen.ask(f"document.getElementById('{anchor}').open")
    assert not seen.ask(f"document.getElementById('{anchor}').hidden")
    seen.open(written, "#word-oracle")
    assert seen.ask("document.getElementById('glossary').open")


def test_a_short_page_prints_short(seen: Browser, written: Path) -> None:
    seen.open(written)
    assert seen.printed() <= 5


def test_nothing_an_iut_says_is_run(seen: Browser, tmp_path: Path) -> None:
    write_transcript(
        tmp_path, *[{"at": 0, "from": "x", "text": "<script>document.x = 1</script>"}] * 3
    )
    path = write_page(hostile(), tmp_path)
    seen.open(path)
    assert seen.ask("document.scripts.length") == 1
    assert seen.ask("document.x") is None


def test_three_long_sessions_make_a_short_page(tmp_path: Path) -> None:
    report = minimal("fail")
    value = {"Log": {"level": "info", "message": "the quick brown fox " * 20}}
    event = {"at": 1, "from": "simulator", "text": json.dumps(value), "message": "Log"}
    tests = []
    for number in range(3):
        name = f"{number}.jsonl"
        write_transcript(tmp_path, *[{**event, "value": value}] * 5000, name=name)
        shown = {"id": f"t.py::test_{number}", "transcript": f"transcripts/{name}"}
        tests.append(report["tests"][0] | shown | {"offending": 2000 + number})
    report["tests"] = tests
    assert write_page(report, tmp_path).stat().st_size < 1_000_000
