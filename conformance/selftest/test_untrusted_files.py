"""A file that others have written ends in one clear line, whatever is in it."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from conformance import cli, untrusted_files
from conformance.benchmarks import fuzz

BIG = 10**400


def archive(**changes: Any) -> str:
    """Return an HTTP archive whose only entry has other members."""
    entry = json.loads(json.dumps(fuzz._ENTRY))
    for name, value in changes.items():
        entry["response" if name == "status" else "request"] |= {name: value}
        entry |= {name: value}
    return json.dumps({"log": {"entries": [entry]}})


FILES = {
    "time.har": archive(time=BIG),
    "status.har": archive(status=float("inf")),
    "year.har": archive(startedDateTime="0001-01-01T00:00:00"),
    "null.har": '{"log": {"entries": null}}',
    "object.har": '{"log": {"entries": {"a": 1}}}',
    "deep.har": "[" * 100_000,
    "time.jsonl": '{"capture": 1, "protocol": "vexide", "title": "", "origin": "recorded"}\n'
    f'{{"at": {BIG}, "from": "simulator", "text": ""}}',
    "never.jsonl": '{"capture": 1, "protocol": "vexide", "title": "", "origin": "recorded"}\n'
    '{"at": NaN, "from": "simulator", "text": ""}',
    "mute.jsonl": '{"capture": 1, "protocol": "runtime", "title": "", "origin": "recorded"}\n'
    '{"at": 0, "from": "gamepad-receiver", "text": "1"}',
}


@pytest.mark.parametrize("name", FILES)
def test_check(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    protocol = ["openroberta"] if name.endswith("har") else []
    assert cli.main(["check", *protocol, str(path)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"conformance: {path}") and output.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 100_000 + "]" * 100_000, "nested too deep"),
        ("&x [*x]", "at most 500000 values"),
        ("[" + "1," * 1_100_000 + "]", "at most 500000 values"),
        ("a: 2026-99-99", "month"),
        ("- !!python/object/apply:os.system [x]", "could not determine a constructor"),
        ("\x00", "unacceptable|control characters"),
    ],
)
def test_yaml(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        untrusted_files.read_yaml(text)


def test_aliases_count_as_often_as_they_are_used() -> None:
    lines = ["- &n0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"- &n{n} [{', '.join([f'*n{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(ValueError, match="at most 500000 values"):
        untrusted_files.read_yaml("\n".join(lines))


def test_toml_and_sizes(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        untrusted_files.read_toml("x = " + "[" * 50_000 + "]" * 50_000)
    for part in ("a", '"a b"', "'.' "):
        with pytest.raises(ValueError, match="nested too deep"):
            untrusted_files.read_toml(f"{'.'.join([part] * 50_000)} = 1")
    assert untrusted_files.read_toml('x = "a.b.c"\na.b.c = 1') == {
        "x": "a.b.c",
        "a": {"b": {"c": 1}},
    }
    with pytest.raises(ValueError, match="larger than"):
        untrusted_files.read_yaml(" " * (untrusted_files.MAX_SIZE + 1))
    big = tmp_path / "big"
    big.write_bytes(bytes(untrusted_files.MAX_SIZE + 1))
    with pytest.raises(ValueError, match="larger than"):
        untrusted_files.text(big)


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity", "9" * 5000, "1" + "0" * 400])
def test_numbers(number: str) -> None:
    with pytest.raises(ValueError, match=r"too large|no JSON"):
        untrusted_files.read_json(f'{{"a": [{number}]}}')


@pytest.mark.parametrize("target", fuzz.TARGETS)
def test_a_few_random_changes(target: str, tmp_path: Path) -> None:
    """The nightly workflow tries many more."""
    before = signal.getsignal(signal.SIGALRM)
    corpus = tmp_path / target
    fuzz.prepare(corpus, target)
    few = sorted(corpus.iterdir())[6:]
    for path in few:
        path.unlink()
    try:
        assert fuzz.mutate(target, corpus, seconds=600, seed=0, most=60) == 0
    finally:
        signal.signal(signal.SIGALRM, before)
