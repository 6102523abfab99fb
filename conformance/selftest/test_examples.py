"""The examples of the READMEs: a mock in a test, in several languages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = {
    "python": (ROOT / "README.md", "### In your own tests"),
    "other": (ROOT / "mocks" / "README.md", "### In tests of other projects"),
}
"""The page and the section of the example in Python, and of those in other languages."""
LANGUAGES = {
    "js": ("node", "example.mjs", ["node example.mjs"]),
    "java": ("javac", "MockTest.java", ["java MockTest.java"]),
    "rust": ("rustc", "example.rs", ["rustc -o example example.rs", "./example"]),
    "cpp": ("g++", "example.cpp", ["g++ -o example example.cpp", "./example"]),
}
"""For each language of a code block: the tool, the file, and the commands to compile and run it."""


def example(language: str) -> str:
    """Return the example for tests in a language."""
    page, title = PLACES.get(language, PLACES["other"])
    _, _, section = page.read_text("utf-8").partition(title)
    found = re.search(rf"```{language}\n(.*?)```", section.partition("\n## ")[0], re.DOTALL)
    assert found, f"{page} has no example in {language}"
    return found[1]


def status(command: str, folder: Path) -> tuple[int, str]:
    """Run a command with `conformance` on its path; return its exit status and errors."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_languages(language: str, tmp_path: Path) -> None:
    """The example compiles and plays a whole session; the mock reports whether it was sound."""
    tool, file, commands = LANGUAGES[language]
    if not shutil.which(tool):
        pytest.skip(f"{tool} is not installed")
    code = example(language)
    for text, expected in ((code, 0), (code.replace("extensions", "additions"), 1)):
        (tmp_path / file).write_text(text, "utf-8")
        *compiled, ran = [status(command, tmp_path) for command in commands]
        assert not any(failed for failed, _ in compiled), compiled
        ended, output = ran
        assert ended == expected, output
        assert ("violates" in output) == bool(expected)


def test_pytest(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(FRONTEND + example("python"), "utf-8")
    assert status(f"{sys.executable} -m pytest -q test_mine.py", tmp_path)[0] == 0


FRONTEND = """
import json, socket

def my_frontend(host, port):
    competition = {"enabled": True, "connected": False, "mode": "Driver", "is_competition": False}
    with socket.create_connection((host, port)) as connection:
        lines = connection.makefile("rb")
        connection.sendall(b'{"Handshake": {"version": 1, "extensions": []}}\\n')
        while json.loads(lines.readline()) != "Ready":
            pass
        connection.sendall(json.dumps({"CompetitionMode": competition}).encode() + b"\\n")
        connection.sendall(b'"StartExecution"\\n')
        assert b"Exited" in lines.read()

"""
