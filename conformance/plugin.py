"""The pytest plugin: runs test cases with an IUT, and writes a report.

pytest loads the plugin in every run. The plugin does nothing unless the run names an IUT:

- by ``conformance run``, which passes ``--conformance-run FILE``
- directly: ``pytest --pyargs conformance.vexide --role vexide/simulator --iut COMMAND``

For a project's own tests, the plugin provides the fixture ``reference_mock``.
"""

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from conformance.configuration import Configuration, ConfigurationError, check_configuration, split
from conformance.definitions import protocols
from conformance.exits import WrongUsage
from conformance.running.selection import Selection


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance")
    group.addoption("--role", help="the role of the IUT, PROTOCOL/ROLE")
    group.addoption("--iut", metavar="COMMAND", help="the command that starts the IUT")
    group.addoption(
        "--connect", metavar="ADDR", help="the address at which the IUT already listens"
    )
    group.addoption("--listen", metavar="ADDR", help="the address to listen at for the IUT")
    group.addoption("--report", metavar="DIR", help="the folder of the report")
    group.addoption("--requirement", metavar="ID", action="append", default=[])
    group.addoption(
        "--conformance-run", metavar="FILE", help="a configured run, from conformance run"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the requirement that a test case decides")
    try:
        configuration = _configuration(config)
    except WrongUsage as error:
        raise pytest.UsageError(str(error)) from error
    if configuration:
        if config.getoption("numprocesses", None):
            raise pytest.UsageError(
                "-n: tests of an IUT overlap in one process; `conformance run -n N` says how many"
            )
        # The run has an event loop of its own, so pytest-asyncio must leave its test cases alone.
        config.option.asyncio_mode = "strict"
        from conformance.running.runner import Runner

        try:
            runner = Runner(config, configuration)
        except OSError as error:
            why = error.strerror or error
            raise pytest.UsageError(f"--report {configuration.report}: {why}") from error
        config.pluginmanager.register(runner, "conformance-runner")


def _configuration(config: pytest.Config) -> Configuration | None:
    if file := config.getoption("--conformance-run"):
        return Configuration.from_json(Path(file).read_text(encoding="utf-8"))
    role = config.getoption("--role")
    command = config.getoption("--iut") or ""
    connect, listen = config.getoption("--connect") or "", config.getoption("--listen") or ""
    if not (role or command or connect or listen):
        return None
    if not role:
        raise ConfigurationError("--role is missing: expected the role of the IUT, PROTOCOL/ROLE")
    given = [word for word in ("connect", "listen") if config.getoption(word)]
    invocation = ["conformance", "run", role]
    invocation += [word for name in given for word in (f"--{name}", config.getoption(name))]
    return check_configuration(
        Configuration(
            role=protocols.role(role),
            command=split(command),
            connect=connect,
            listen=listen,
            report=str(Path(config.getoption("--report") or _folder(config)).resolve()),
            selection=Selection(
                keyword=config.getoption("keyword"),
                requirements=tuple(config.getoption("--requirement")),
            ),
            invocation=shlex.join(invocation) + (f" -- {command}" if command else ""),
        )
    )


def _folder(config: pytest.Config) -> str:
    """The folder of the report; a selection of pytest has a folder of its own."""
    options = ("keyword", "markexpr", "lf", "deselect", "maxfail")
    selecting = any(config.getoption(name, None) for name in options)
    named = any("::" in argument for argument in config.args)
    return "conformance-report-selection" if selecting or named else "conformance-report"


@pytest.fixture
def iut() -> None:
    """The implementation under test; the run passes it to each test case."""


@pytest.fixture
def reference_mock() -> Iterator[Callable[..., Any]]:
    """Start mocks like ``mocks.testing.mock``; they are stopped at the end of the test."""
    from mocks.testing import mock

    with ExitStack() as stack:
        yield lambda role, **options: stack.enter_context(mock(role, **options))
