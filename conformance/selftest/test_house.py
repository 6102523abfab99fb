"""The project's own rules: its layout, imports and English, and the checks of the tools."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.checks import english
from conformance.definitions import protocols

ROOT = Path(__file__).parents[2]
ENTRIES = {"README.md", "captures", "conformance", "mocks", "pyproject.toml", "reports", "schemas"}

# Modules that work on the results of a run.
LATER = (
    "conformance.session",
    "conformance.wire",
    "conformance.running",
    "conformance.conclusions",
    "conformance.reporting",
    "conformance.live",
    "conformance.proving",
    "conformance.commands",
    "conformance.cli",
)
# By package: the modules that it must not import, so that dependencies have one direction.
FORBIDDEN = {
    "conformance/definitions": (*LATER, "conformance.harness", "conformance.judging", "mocks"),
    "conformance/judging": (*LATER, "conformance.harness", "mocks"),
    "conformance/harness": LATER,
    "conformance/reporting": ("conformance.harness", "conformance.session", "mocks"),
    "mocks": (*LATER, "conformance.harness", "pytest"),
}
IMPURE = (
    "asyncio",
    "socket",
    "time",
    "threading",
    "subprocess",
    "selectors",
    "ssl",
    "multiprocessing",
)
PURE = ("codec", "oracle", "judge", "verdicts", "segmentation", "schemas", "keywords")

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").is_file(), reason="installed without its checkout"
)


def tracked() -> list[str]:
    """Return the paths, relative to the root, of all files of the project."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("no git checkout")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def modules(*under: str) -> list[Path]:
    found = [ROOT / name for name in tracked() if name.endswith(".py")]
    return [path for path in found if any(path.is_relative_to(ROOT / folder) for folder in under)]


def imported(path: Path) -> set[str]:
    """Return the names of all modules that a file imports, at any place."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def rooms() -> dict[str, list[str]]:
    """Return the files with English texts, by room: the first two folders of a file."""
    found: dict[str, list[str]] = {}
    for name in tracked():
        if name.endswith((".py", "/requirements.yaml")):
            found.setdefault("/".join(name.split("/")[:-1][:2]), []).append(name)
    return found


@pytest.mark.parametrize(
    "words",
    [("ruff", "check", "--no-cache"), ("ruff", "format", "--check", "--no-cache"), ("mypy",)],
    ids=lambda words: " ".join(words[:2]),
)
def test_tools_have_nothing_to_say(words: tuple[str, ...]) -> None:
    pytest.importorskip(words[0])
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-1000:]


def test_top_level_entries() -> None:
    entries = {name.partition("/")[0] for name in tracked()}
    assert {entry for entry in entries if not entry.startswith(".")} == ENTRIES


def test_protocols_have_the_same_name_everywhere() -> None:
    paths = [name.split("/") for name in tracked()]
    schemas = {path[1] for path in paths if path[0] == "schemas" and len(path) > 2}
    for folder in ("captures", "mocks", "conformance"):
        for name in schemas:
            assert (ROOT / folder / name).is_dir(), f"{folder}/{name} is missing"


def test_groups_of_messages_stand_once() -> None:
    """No module repeats a list of messages that `protocol.yaml` declares as a group."""
    for name in protocols.names():
        groups = {frozenset(members) for members in protocols.load(name).groups.values()}
        for path in modules(f"conformance/{name}", f"mocks/{name}"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Tuple | ast.List | ast.Set):
                    values = {each.value for each in node.elts if isinstance(each, ast.Constant)}
                    assert values not in groups, f"{path.relative_to(ROOT)}:{node.lineno}"


def test_codecs_and_oracles_do_no_input_or_output() -> None:
    seen = 0
    for path in modules("conformance"):
        if path.stem in PURE:
            seen += 1
            wrong = {name for name in imported(path) if within(name, IMPURE)}
            assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"
    assert seen >= len(PURE)


@pytest.mark.parametrize("package", FORBIDDEN)
def test_imports_run_one_way(package: str) -> None:
    for path in modules(package):
        wrong = {name for name in imported(path) if within(name, FORBIDDEN[package])}
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def test_nothing_names_a_place_of_one_machine() -> None:
    places = ["/" + name for name in ("work/", "root/", "tmp/team")]
    for name in tracked():
        content = (ROOT / name).read_bytes()
        for place in places:
            assert place.encode() not in content, f"{name} names {place}"


@pytest.mark.parametrize("room", rooms())
def test_english_is_plain(room: str) -> None:
    """Sentences follow the rules of `conformance.checks.english`."""
    names = rooms()[room]
    found = [
        str(offence)
        for name in names
        for offence in english.offences(name, (ROOT / name).read_text("utf-8"))
    ]
    assert not found, f"{len(found)} offences:\n" + "\n".join(found)
