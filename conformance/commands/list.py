"""List protocols and roles, or the requirements, tests, settings and mock of one role."""

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence

from conformance.definitions import protocols
from conformance.definitions.protocol import Protocol, Role, UnknownName
from conformance.exits import SUITE_FAILED
from conformance.reporting.text import one_line
from mocks import deviations

_DECLARED = {
    "faults": deviations.faults,
    "variants": deviations.variants,
    "lenient": deviations.leniencies,
}
PARTS = ("requirements", "tests", "settings", *_DECLARED)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PROTOCOL[/ROLE]", nargs="?", default="")
    for part in PARTS:
        parser.add_argument(f"--{part}", action="store_true", help=f"only the {part} of a role")


def execute(args: argparse.Namespace) -> int:
    chosen = [part for part in PARTS if getattr(args, part)] or list(PARTS)
    name, _, role = args.name.partition("/")
    if role:
        return _list_role(protocols.load(name), protocols.role(args.name), chosen)
    if len(chosen) < len(PARTS):
        raise UnknownName("role", args.name, protocols.roles())
    for protocol in [protocols.load(name)] if name else map(protocols.load, protocols.names()):
        print(f"{protocol.name}  {protocol.title}")
        rows = [(f"  {each}", each.title) for each in protocol.roles.values()]
        _print(_table(rows))
    return 0


def _list_role(protocol: Protocol, role: Role, chosen: Sequence[str]) -> int:
    if len(chosen) > 1:
        print(f"{role}  {role.title}")
        print(f"\nMock\n{deviations.role_module(str(role)).__doc__}".rstrip())
    status = 0
    for part in chosen:
        if len(chosen) > 1:
            print(f"\n{part.capitalize()}")
        if part == "requirements":
            rows = [
                (r.id, r.level, r.origin, r.tested, r.text) for r in protocol.requirements_for(role)
            ]
            _print(_table(rows))
        elif part == "tests":
            status = _tests(role)
        elif part == "settings":
            _print(_table(list(_settings(protocol, role))))
        else:
            declared = _DECLARED[part](str(role)).values()
            _print(_table([(d.name, d.requirement, _kind(d), d.summary) for d in declared]))
    return status


def _settings(protocol: Protocol, role: Role) -> Iterator[Sequence[str]]:
    """Yield a role's settings: table, name, default and description."""
    for name, description in role.programs.items():
        yield "[programs]", name, "", description
    for name, description in role.procedures.items():
        yield "[procedures]", name, name, description
    for operation in role.hooks.values():
        yield "[hooks]", operation.name, "", operation.description
    for section, settings in (("[timing]", protocol.timings), ("[ixit]", protocol.ixit)):
        for setting in protocol.settings_for(role, settings):
            default = "" if setting.default is None else f"{setting.default}"
            yield section, setting.name, default, setting.description
    bound = {requirement.id for requirement in protocol.requirements_for(role)}
    for feature, ids in protocol.features.items():
        if bound_ids := [name for name in ids if name in bound]:
            yield "[unsupported]", feature, "", f"An optional part: {', '.join(bound_ids)}."


def _tests(role: Role) -> int:
    # Imported here because collecting imports pytest and all test modules, which is slow.
    from conformance.running.collection import CollectionError, cases

    try:
        found = cases(role)
    except CollectionError as error:
        print(f"conformance: the tests of {role} cannot be collected: {error}", file=sys.stderr)
        return SUITE_FAILED
    _print(_table([(case.id, case.requirement, case.purpose) for case in found]))
    return 0


def _kind(declared: deviations.Deviation) -> str:
    needs = ", ".join(f"{key} {value}" for key, value in declared.needs.items())
    return ", ".join(filter(None, ("subtle" if declared.subtle else "", needs)))


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        print(line)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Format rows as columns; on a terminal, the last column is cut at the right edge."""
    if not rows:
        return
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    columns = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    room = max(width - sum(columns) - 2 * len(columns), 20)
    for row in rows:
        cells = [cell.ljust(size) for cell, size in zip(row, columns, strict=False)]
        yield "  ".join([*cells, one_line(row[-1], room)]).rstrip()
