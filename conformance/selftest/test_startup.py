"""Commands import only needed modules; counted, because times differ by machine."""

import json
import os
import subprocess
import sys

import pytest

# Prints the modules that a command has imported in addition to those before.
_COUNT = """
import contextlib, io, json, sys
before = set(sys.modules)
from conformance.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted(set(sys.modules) - before)))
"""
SLOW = {"asyncio", "attr", "hypothesis", "jinja2", "jsonschema", "msgpack", "pytest", "yaml"}
"""Packages that take tens of milliseconds each to import."""


@pytest.mark.parametrize(
    ("words", "most", "slow"),
    [
        (["--version"], 60, set()),
        (["run", "--help"], 600, SLOW - {"jsonschema", "msgpack"}),
        (["list"], 150, {"yaml"}),
        (["list", "vexide/simulator", "--requirements"], 150, {"yaml"}),
        (["compare", "--help"], 200, {"jinja2", "yaml"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_imports(words: list[str], most: int, slow: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _COUNT, *words], capture_output=True, check=True, env=os.environ
    )
    modules = json.loads(done.stdout)
    assert {name for name in SLOW if name in modules} <= slow
    assert len(modules) <= most, modules
