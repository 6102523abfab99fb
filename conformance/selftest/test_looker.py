"""Shared memory between a real owner and a real consumer, observed and judged."""

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conformance.configuration import ConfigurationError
from conformance.harness import memory
from conformance.runtime.looker import Looker
from mocks.testing import mock

CATALOG = """
lookarm:
  device_id: 9
  params:
    - {name: angle, type: float, lower: -1.1, upper: 1.1, readable: true, writeable: true}
    - {name: steps, type: int, lower: 0, upper: 100, readable: true, writeable: true}
    - {name: lit, type: bool, readable: true, writeable: true}
"""


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "catalog.yaml"
    path.write_text(CATALOG)
    return str(path)


@pytest.mark.parametrize(
    ("role", "fault", "requirement"),
    [
        ("", "", ""),
        ("buffer-consumer", "unclamped", "catalog.clamped"),
        ("buffer-consumer", "not-stamped", "set-value.timestamp"),
        ("buffer-owner", "milliseconds", "set-data.timestamp"),
    ],
)
def test_who_misuses_a_buffer_is_told(
    role: str, fault: str, requirement: str, catalog: str, tmp_path: Path
) -> None:
    def options(name: str) -> dict[str, Any]:
        return {"fault": fault} if name == role else {}

    with (
        mock("runtime/buffer-owner", **options("buffer-owner")) as owner,
        mock("runtime/buffer-consumer", **options("buffer-consumer")) as consumer,
    ):
        for each in (owner, consumer):
            each.ask("catalog", path=catalog)
        layout = owner.ask("layout", type="lookarm")
        (tmp_path / "layout.json").write_text(json.dumps({"lookarm": layout}))
        names = owner.ask("connect", type="lookarm", uid="7")["buffer"].replace("-7-", "-{uid}-")
        words = [f"catalog={catalog}", f"layout={tmp_path / 'layout.json'}"]
        words.append(f"names={names.replace('lookarm', '{type}')}")
        command = [sys.executable, "-m", "conformance", "proxy", "runtime/buffer-owner", "--record"]
        command += ["seen.jsonl", *(word for each in words for word in ("--look", each))]
        with (
            subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
            ) as proxy,
            contextlib.ExitStack() as stack,
        ):
            assert proxy.stdout
            stack.callback(proxy.kill)
            buffer = names.replace("{uid}", "7")
            assert proxy.stdout.readline() == b"looking\n"
            _until(tmp_path / "seen.jsonl", "bytes")
            owner.ask("set_data", buffer=buffer, values={"angle": 0.5, "steps": 3, "lit": True})
            _until(tmp_path / "seen.jsonl", "read.params.angle")
            for value in (1.1, 5.0):
                consumer.ask("set_value", buffer=buffer, param="angle", value=value)
            consumer.ask("set_value", buffer=buffer, param="steps", value=17)
            _until(tmp_path / "seen.jsonl", "write.params.steps")
            proxy.send_signal(signal.SIGTERM)
            _, output = proxy.communicate(timeout=120)
    reports = {
        name: json.loads((tmp_path / "conformance-report" / name / "report.json").read_text())
        for name in ("buffer-owner", "buffer-consumer")
    }
    found = {
        (name, finding["requirement"])
        for name, report in reports.items()
        for finding in report["findings"]
    }
    assert found == ({(role, requirement)} if role else set()), output.decode()
    assert proxy.returncode == (1 if role else 0)
    assert b"Not judged: everything from 0.0 s on: changes between two observations" in output


def _until(path: Path, text: str) -> None:
    """Wait until a growing file contains a text."""
    import time

    deadline = time.monotonic() + 20
    while text not in path.read_text():
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.01)


def test_it_opens_nothing_but_what_is_named_so_and_never_writes(
    catalog: str, tmp_path: Path
) -> None:
    looker = Looker(catalog, names="looked-{type}-{uid}-here")
    name, other = "looked-lookarm-1-here", "looked-else-1-here"
    (memory.FOLDER / other).write_bytes(bytes(4096))
    (memory.FOLDER / name).write_bytes(bytes(8))
    try:
        assert [found for found, _ in looker.find()] == [name]
        # A buffer that is still being made is too short; this is reported at the end, and is no
        # finding.
        assert [list(looker.look()) for _ in range(50)] == [[]] * 50
        assert any("shorter than its layout" in text for text in looker.unseen)
        (memory.FOLDER / name).write_bytes(bytes(4096))
        [(_, details, found)] = list(looker.look())
        assert set(details) == {"bytes"} and found == []
        # Another process has locked the mutex.
        (memory.FOLDER / name).write_bytes(b"\1" + bytes(4095))
        assert list(looker.look()) == []
        assert looker.held == 1
        (memory.FOLDER / name).write_bytes(bytes(8))
        found = [one for _ in range(50) for *_, some in looker.look() for one in some]
        assert [finding.requirement for _, finding in found] == ["lifecycle.kept"]
        memory.remove(name)
        assert list(looker.find()) == [(name, {"what": "gone"})]
    finally:
        looker.close()
        memory.remove(name)
        memory.remove(other)


@pytest.mark.parametrize(
    "options",
    [{}, {"catalog": "/nowhere"}, {"names": "no-type"}, {"layout": "/nowhere"}],
)
def test_wrong_options_are_told(options: dict[str, str], catalog: str) -> None:
    with pytest.raises(ConfigurationError):
        Looker(**({"catalog": catalog} | options if options else {}))
