"""The selection of a role's test cases for a run, and its text."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SMOKE = "smoke"
"""The id of the smoke session among the tests of a run."""
LEFT_OUT = "not part of this run, which is a selection"
"""The reason of a requirement that a selection has not tried."""


@dataclass(frozen=True)
class Selection:
    """A run of a part: test cases for which everything holds that is given here.

    ``keyword`` is pytest's ``-k``, which pytest applies; ``requirements`` are patterns of ids, in
    which ``*`` stands for anything; ``tests`` are ids of test cases, and ``failed`` those that
    an earlier report lists as failed. ``shard`` is ``I/N``: the
    I-th of N parts of the rest, in each of which a requirement has all of its tests or none.
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
        """For each test case, given by its id and its requirement, True if it is selected."""
        taken = [self._is_selected(case, requirement) for case, requirement in cases]
        if not self.shard:
            return taken
        part, parts = (int(number) for number in self.shard.split("/"))
        decided = [requirement for (_, requirement), take in zip(cases, taken, strict=True) if take]
        ours = set(list(dict.fromkeys(decided))[part - 1 :: parts])
        return [take and case[1] in ours for case, take in zip(cases, taken, strict=True)]

    def _is_selected(self, case: str, requirement: str) -> bool:
        wanted = not self.requirements or is_matching(requirement, self.requirements)
        return wanted and all(case in ids for ids in (self.tests, self.failed) if ids)


@dataclass(frozen=True)
class Collected:
    """How many of a role's test cases were collected, and how many of these selected.

    ``decided`` are the requirements of which some test was selected, ``split`` those of which some
    test was left out.
    """

    available: int = 0
    selected: int = 0
    decided: tuple[str, ...] = ()
    split: tuple[str, ...] = ()


def is_matching(requirement: str, patterns: Sequence[str]) -> bool:
    """True if the id of a requirement fits one of these patterns."""
    return any(fnmatch.fnmatchcase(requirement, pattern) for pattern in patterns)
