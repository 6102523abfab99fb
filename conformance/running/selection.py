"""The selection of a role's test cases for a run."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SMOKE = "smoke"
"""The id of the smoke session among the tests of a run."""
LEFT_OUT = "not part of this run, which is a selection"
"""The reason for a requirement that the selection of a run leaves out."""


@dataclass(frozen=True)
class Selection:
    """The conditions that all test cases of a run meet.

    - ``keyword``: pytest's ``-k``, which pytest applies
    - ``requirements``: patterns of ids, in which ``*`` matches anything
    - ``tests``: ids of test cases
    - ``failed``: ids of test cases that failed in an earlier report
    - ``shard``: ``I/N``, the I-th of N parts; the tests of a requirement are in the same part
    """

    keyword: str = ""
    requirements: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    shard: str = ""

    def __bool__(self) -> bool:
        return any((self.keyword, self.requirements, self.tests, self.failed, self.shard))

    def __str__(self) -> str:
        """The options that select the same tests."""
        words = [f"-k '{self.keyword}'"] if self.keyword else []
        words += [f"--requirement '{pattern}'" for pattern in self.requirements]
        words += [f"--test '{name}'" for name in self.tests]
        words += ["--failed"] if self.failed else []
        words += [f"--shard {self.shard}"] if self.shard else []
        return " ".join(words)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Selection":
        tuples = {name: tuple(raw[name]) for name in ("requirements", "tests", "failed")}
        return cls(**{**raw, **tuples})

    def of(self, cases: Sequence[tuple[str, str]]) -> list[bool]:
        """Return for each pair of test case and requirement whether it is selected."""
        selected = [self._is_selected(case, requirement) for case, requirement in cases]
        if not self.shard:
            return selected
        part, parts = (int(number) for number in self.shard.split("/"))
        pairs = [*zip(cases, selected, strict=True)]
        decided = [requirement for (_, requirement), is_selected in pairs if is_selected]
        ours = set(list(dict.fromkeys(decided))[part - 1 :: parts])
        return [is_selected and case[1] in ours for case, is_selected in pairs]

    def _is_selected(self, case: str, requirement: str) -> bool:
        wanted = not self.requirements or is_matching(requirement, self.requirements)
        return wanted and all(case in ids for ids in (self.tests, self.failed) if ids)


@dataclass(frozen=True)
class Collected:
    """The numbers of a role's test cases that were collected and selected.

    ``decided`` are the requirements with a selected test, ``split`` those with a test that was left
    out.
    """

    available: int = 0
    selected: int = 0
    decided: tuple[str, ...] = ()
    split: tuple[str, ...] = ()


def is_matching(requirement: str, patterns: Sequence[str]) -> bool:
    """True if the id of a requirement matches one of these patterns."""
    return any(fnmatch.fnmatchcase(requirement, pattern) for pattern in patterns)
