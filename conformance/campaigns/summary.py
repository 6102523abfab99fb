"""Summarizes a campaign: requirements by programs, and failures grouped by cause."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conformance.exits import CONFORMANT, INCONCLUSIVE, INTERRUPTED, NONCONFORMANT, SUITE_FAILED
from conformance.reporting.table_page import write_tables
from conformance.reporting.tables import Cell, Table
from conformance.verdicts import VIOLATIONS, Verdict, merge

_WORST_FIRST = (SUITE_FAILED, INTERRUPTED, NONCONFORMANT, INCONCLUSIVE)


@dataclass
class Group:
    """Failures of one cause: its programs and seeds, and the command of the smallest seed."""

    requirements: tuple[str, ...]
    verdict: str
    what: str
    seeds: dict[str, list[int]] = field(default_factory=dict)
    """The seeds that show the cause, by program."""
    smallest: int = 0
    reproduce: str = ""

    @property
    def times(self) -> int:
        return sum(len(seeds) for seeds in self.seeds.values())


@dataclass
class Whole:
    """The results of a campaign so far.

    - ``planned``: the number of all tasks
    - ``verdicts``: the number of runs with each verdict, by program and requirement
    - ``broken``: the reason of each task without a report
    - ``codes``: the exit codes of all runs
    """

    planned: int
    done: int = 0
    runs: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    groups: dict[tuple[Any, ...], Group] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    codes: set[int] = field(default_factory=set)

    @property
    def code(self) -> int:
        """The worst exit code of all runs; an incomplete campaign is inconclusive."""
        if self.done < self.planned or self.broken:
            return INCONCLUSIVE
        return next((code for code in _WORST_FIRST if code in self.codes), CONFORMANT)

    @property
    def headline(self) -> str:
        state = f"{self.done} of {self.planned} runs done"
        broken = f", {len(self.broken)} without a report" if self.broken else ""
        causes = sum(group.verdict in VIOLATIONS for group in self.groups.values())
        return f"{state}{broken}; programs: {len(self.runs)}, causes of failures: {causes}"

    def add(self, summary: Mapping[str, Any]) -> None:
        """Add the summary of a task."""
        self.done += 1
        program, seed = summary["program"], int(summary["seed"])
        self.runs[program] = self.runs.get(program, 0) + 1
        self.codes.add(summary["code"])
        if summary["ended"]:
            self.broken[summary["task"]] = summary["ended"]
        counted = self.verdicts.setdefault(program, {})
        for name, verdict in summary["requirements"].items():
            counts = counted.setdefault(name, {})
            counts[verdict] = counts.get(verdict, 0) + 1
        for cause in summary["causes"]:
            key = (tuple(cause["requirements"]), cause["alike"])
            group = self.groups.setdefault(
                key, Group(key[0], cause["verdict"], cause["what"], {}, seed, cause["reproduce"])
            )
            group.seeds.setdefault(program, []).append(seed)
            if seed < group.smallest:
                group.smallest, group.what = seed, cause["what"]
                group.reproduce = cause["reproduce"]

    def to_json(self) -> dict[str, Any]:
        """The campaign as campaign.json has it."""
        return {
            "headline": self.headline,
            "planned": self.planned,
            "done": self.done,
            "exit_code": self.code,
            "runs": self.runs,
            "verdicts": self.verdicts,
            "causes": [asdict(group) for group in self._sorted_groups()],
            "broken": self.broken,
        }

    def _sorted_groups(self) -> list[Group]:
        order = [str(verdict) for verdict in (Verdict.FAIL, Verdict.WARN)]

        def rank(group: Group) -> tuple[int, int]:
            known = group.verdict in order
            return order.index(group.verdict) if known else len(order), -group.times

        return sorted(self.groups.values(), key=rank)


def summarize(planned: int, summaries: Iterable[Mapping[str, Any]]) -> Whole:
    """Add up the summaries of a campaign."""
    found = Whole(planned)
    for summary in summaries:
        found.add(summary)
    return found


def write_page(campaign: Whole, path: Path) -> None:
    """Write the page of a campaign."""
    lead = [campaign.headline]
    lead += [f"{task}: {why}"[:300] for task, why in [*campaign.broken.items()][:20]]
    write_tables(path, "Campaign", lead, [_causes(campaign), _requirements(campaign)])


def _causes(campaign: Whole) -> Table:
    rows = [
        (
            Cell(group.verdict, group.verdict),
            Cell(", ".join(group.requirements[:3])),
            Cell(group.what[:300]),
            Cell(", ".join(_example_of(campaign, group))),
            Cell(str(group.smallest)),
            Cell(group.reproduce[:500]),
        )
        for group in campaign._sorted_groups()[:200]
    ]
    head = ("Verdict", "Requirements", "What", "Runs that show it", "Smallest seed", "Again")
    return Table("Failures by cause", head, tuple(rows))


def _example_of(campaign: Whole, group: Group) -> list[str]:
    return [f"{name}: {len(s)} of {campaign.runs[name]}" for name, s in group.seeds.items()]


def _requirements(campaign: Whole) -> Table:
    """Requirements by programs; a cell has the worst verdict and its number of runs."""
    programs = [*campaign.verdicts]
    names = dict.fromkeys(name for counted in campaign.verdicts.values() for name in counted)
    rows = []
    for name in names:
        cells = [Cell(name)]
        for program in programs:
            counts = campaign.verdicts[program].get(name)
            if counts is None:
                cells.append(Cell(""))
                continue
            worst = merge(Verdict(verdict) for verdict in counts)
            of = sum(counts.values())
            some = "" if counts[worst] == of else f" {counts[worst]} of {of}"
            cells.append(Cell(f"{worst}{some}", worst))
        rows.append(tuple(cells))
    return Table("Requirements by programs", ("Requirement", *programs), tuple(rows))


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The changes between two campaigns (campaign.json), one line each; regressions first."""
    lines = []
    for program, counted in new["verdicts"].items():
        before = old["verdicts"].get(program, {})
        for name, counts in counted.items():
            was = merge(map(Verdict, before[name])) if name in before else None
            now = merge(map(Verdict, counts))
            if was is not None and was != now:
                worse = now in VIOLATIONS and was not in VIOLATIONS
                kind = "regression" if worse else "change"
                lines.append((not worse, f"{kind}: {program}: {name}: {was} > {now}"))
    return [line for _, line in sorted(lines)]
