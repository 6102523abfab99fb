"""The plan of a campaign: the tasks that a campaign file defines.

A task is an ordinary `conformance run` or `conformance pair`, with one seed and one shard.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conformance import untrusted_files
from conformance.configuration import ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.schemas import Schema

TIMEOUT = 900.0  # seconds that a task can take by default: a run of a slow program takes 100
MEMORY = 4096  # MiB that a task can use by default: a run of a large scene takes 300
_TABLES = ("timing", "hooks", "programs", "procedures", "ixit", "unsupported")


@dataclass(frozen=True)
class Task:
    """A single run: ``words`` follow `conformance`; ``configuration`` is its conformance.toml.

    ``timeout`` is in seconds, ``memory`` in MiB. ``id`` is unique in the plan, and a file name.
    """

    id: str
    program: str
    role: str
    seed: int
    words: tuple[str, ...]
    configuration: str = ""
    timeout: float = TIMEOUT
    memory: int = MEMORY

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Task":
        return cls(**{**raw, "words": tuple(raw["words"])})


def load(path: Path) -> list[Task]:
    """Read a campaign file; regressions come first. Raises ConfigurationError."""
    try:
        raw = untrusted_files.read_toml(untrusted_files.text(path))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    schema = json.loads(Path(__file__).with_name("campaign.schema.json").read_text("utf-8"))
    for wrong in Schema.of(schema).errors(raw):
        raise ConfigurationError(f"{path}: {wrong.message}")
    return _tasks(path, raw)


def _tasks(path: Path, raw: Mapping[str, Any]) -> list[Task]:
    common, folder = raw.get("campaign", {}), path.parent.resolve()
    programs = {entry["name"]: {**common, **entry} for entry in raw.get("program", ())}
    if len(programs) < len(raw.get("program", ())):
        raise ConfigurationError(f"{path}: two programs have the same name")
    found: dict[str, Task] = {}
    for entry in raw.get("regression", ()):
        if entry["program"] not in programs:
            raise ConfigurationError(f"{path}: regression: no program {entry['program']!r}")
        for task in _runs(path, folder, programs[entry["program"]], [entry["seed"]]):
            found.setdefault(task.id, task)
    for program in programs.values():
        for task in _runs(path, folder, program, _seeds(program.get("seeds", 1))):
            found.setdefault(task.id, task)
    for pair in raw.get("pair", ()):
        for seed in _seeds(common.get("seeds", 1)):
            task_id = f"{pair['name']}-{seed}"
            words = ("pair", pair["protocol"], *pair["options"])
            bounds = _bounds(common)
            found[task_id] = Task(task_id, pair["name"], pair["protocol"], seed, words, "", *bounds)
    return [*found.values()]


def _seeds(seeds: int | Sequence[int]) -> Sequence[int]:
    return range(seeds) if isinstance(seeds, int) else seeds


def _bounds(entry: Mapping[str, Any]) -> tuple[float, int]:
    return float(entry.get("timeout", TIMEOUT)), int(entry.get("memory", MEMORY))


def _runs(
    path: Path, folder: Path, program: Mapping[str, Any], seeds: Sequence[int]
) -> Iterator[Task]:
    """The runs of a program, for each seed and shard."""
    role = program["role"]
    protocols.role(role)
    mock = program.get("mock", False) or "fault" in program or "variant" in program
    if mock == ("command" in program):
        raise ConfigurationError(f"{path}: {program['name']}: expected either command or mock")
    words = ["run", role]
    if mock:
        words.append("--mock")
        words += [word for name in program.get("fault", ()) for word in ("--fault", name)]
        words += ["--variant", program["variant"]] if "variant" in program else []
    words += ["--examples", str(program["examples"])] if "examples" in program else []
    shards = program.get("shards", 1)
    configuration = "" if mock else _configuration(program, folder)
    for seed in seeds:
        for shard in range(1, shards + 1):
            part = ["--shard", f"{shard}/{shards}"] if shards > 1 else []
            name = f"{program['name']}-{seed}" + (f"-{shard}of{shards}" if shards > 1 else "")
            yield Task(
                name,
                program["name"],
                role,
                seed,
                (*words, "--seed", str(seed), *part),
                configuration,
                *_bounds(program),
            )


def _configuration(program: Mapping[str, Any], folder: Path) -> str:
    """The text of conformance.toml; JSON's strings, numbers and lists are TOML's as well."""
    iut: dict[str, Any] = {"name": program["name"], "role": program["role"]}
    iut |= {"command": program["command"], "cwd": str(folder / program.get("cwd", "."))}
    tables = {"iut": iut, **{name: program[name] for name in _TABLES if name in program}}
    lines = []
    for title, members in tables.items():
        lines.append(f"[{title}]")
        lines += [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in members.items()]
    if "env" in program:
        lines.append("[iut.env]")
        lines += [f"{json.dumps(k)} = {json.dumps(v)}" for k, v in program["env"].items()]
    return "\n".join(lines) + "\n"


def write(tasks: Sequence[Task], file: Path) -> None:
    """Write the plan as a whole, so a reader never sees a part."""
    temporary = file.with_suffix(".tmp")
    temporary.write_text(json.dumps([asdict(task) for task in tasks], indent=1) + "\n", "utf-8")
    temporary.replace(file)


def read(file: Path) -> list[Task]:
    """Read a plan that was written before. Raises ConfigurationError."""
    try:
        return [Task.from_json(raw) for raw in json.loads(file.read_text("utf-8"))]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(f"{file}: no plan of a campaign: {error}") from error
