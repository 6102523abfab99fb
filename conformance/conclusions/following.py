"""What follows from what: marks the failures of a run that another failure may explain.

What is presumed (``presumes`` in requirements.yaml) and fails in the same evidence explains what
rests on it: that is shown under it, and is inconclusive. The same evidence is a session that
violates both, messages that have not come for either, nor at all, or the plainest exchange there
is, where that fails already. A death, of which several requirements fail, stands for one of them:
the others may follow from it, where they are concluded from nothing but that end. Whatever fails
elsewhere, too, has failed there by itself, and is never hidden.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from conformance.definitions.protocol import Protocol
from conformance.harness import last_words
from conformance.running.patience import never_came
from conformance.verdicts import VIOLATIONS, Verdict
from conformance.wire import LONG

_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|0x[0-9a-fA-F]+|\d+")
"""What an error tells of the one input that it met: what it quotes, and its numbers."""
_PANICKED = re.compile(r"panicked at (?:'.*', )?((?!/rustc/|library/)[^\s:']+:\d+:\d+)")

Results = Sequence[dict[str, Any]]


def settle(results: Results, protocol: Protocol) -> None:
    """Mark in results, and in their findings, what may follow from what they presume.

    They get ``follows``, the id of that requirement; a result that has failed is then inconclusive.
    """
    _settle_bases(results)
    _settle_sessions(results, protocol)
    _settle_absences(results, protocol)
    _settle_unserved(results)
    _settle_deaths(results, protocol)
    _settle_cuts(results, protocol.segmentation_requirement)


def _settle_cuts(results: Results, cut: str) -> None:
    """What fails only where one read need not have taken a message whole, by itself.

    It may follow where that is violated itself, and by other means than by long messages, which may
    be what is wrong.
    """
    bad = [result for result in results if result["verdict"] in VIOLATIONS]
    mine = [result for result in bad if result["requirement"] == cut and _only_cut(result)]
    if not mine:
        return
    whole = _violated_whole(results)
    for result in results:
        for finding in result["findings"]:
            if finding["requirement"] not in (cut, *whole):
                finding["follows"] = finding["follows"] or cut
        if result in bad and result["requirement"] not in (cut, *whole):
            _demote(result, cut, mine[0]["detail"])


def _only_cut(result: Mapping[str, Any]) -> bool:
    return bool(result["apart"]) and LONG not in result["apart"]


def _violated_whole(results: Results) -> set[str]:
    """What is violated also where one read may have taken each message whole, by itself."""
    whole = [result for result in results if not result["apart"]]
    return {result["requirement"] for result in whole if result["verdict"] in VIOLATIONS} | {
        finding["requirement"]
        for result in whole
        for finding in result["findings"]
        if not finding["follows"]
    }


def _settle_bases(results: Results) -> None:
    """What fails where the plainest exchange fails already, which a requirement fails for."""
    failed = {one["requirement"]: one for one in results if one["verdict"] in VIOLATIONS}
    for result in results:
        if result["verdict"] in VIOLATIONS and result["rests"] in failed:
            _demote(result, result["rests"], failed[result["rests"]]["detail"])
        for finding in result["findings"]:
            finding["follows"] = finding["rests"] if finding["rests"] in failed else ""


def _settle_sessions(results: Results, protocol: Protocol) -> None:
    """What violates a requirement where the same session violates one that it presumes."""
    cut, whole = protocol.segmentation_requirement, _violated_whole(results)
    for result in results:
        found = result["findings"]
        for finding in found:
            earlier = (other for other in found if _stands_before(other, finding))
            explained = _explained(finding["requirement"], earlier, protocol)
            finding["follows"] = finding["follows"] or explained
            # The test has failed in this session, and what is found in it since rests on that.
            if _failed_before(result, finding):
                violated = result["verdict"] in VIOLATIONS
                root = result["requirement"] if violated else result["follows"]
                decided = root in presumes(finding["requirement"], protocol)
                finding["follows"] = finding["follows"] or decided * root
        if result["verdict"] not in VIOLATIONS:
            continue
        if result["explains"]:
            for finding in found:
                if finding["at_end"] and finding["transcript"] == result["transcript"]:
                    finding["follows"] = finding["follows"] or result["requirement"]
            continue
        # What is found of a death, or of what was sent in pieces, explains no test for that.
        only_cut = result["requirement"] == cut and _only_cut(result)
        elsewhere = (
            finding
            for finding in found
            if finding["requirement"] != result["requirement"]
            and not finding["at_death"]
            and (not only_cut or finding["requirement"] in whole)
        )
        if follows := _explained(result["requirement"], elsewhere, protocol):
            said = next(entry["message"] for entry in found if entry["requirement"] == follows)
            _demote(result, follows, said)


def _settle_absences(results: Results, protocol: Protocol) -> None:
    """What lacks messages that lack already where a requirement fails that it presumes."""
    came = {name for result in results for name in result["got"]}
    lacking: dict[str, dict[str, Any]] = {}
    # What nothing explains comes before what it explains.
    for result in sorted(results, key=lambda one: len(presumes(one["requirement"], protocol))):
        for name in presumes(result["requirement"], protocol):
            basis = lacking.get(name)
            if basis and any(never_came(one, basis["missing"], came) for one in result["missing"]):
                _demote(result, name, basis["detail"])
                break
        else:
            if result["missing"] and result["verdict"] in VIOLATIONS:
                lacking.setdefault(result["requirement"], result)
        for finding in result["findings"]:
            # What a test concludes of another requirement, from the same absence.
            rests = result["follows"] in presumes(finding["requirement"], protocol)
            if finding["concluded"] and result["follows"] and rests:
                finding["follows"] = finding["follows"] or result["follows"]


def _demote(result: dict[str, Any], follows: str, said: str) -> None:
    """Mark what may follow from a violation of which so much is said."""
    result["verdict"] = Verdict.INCONCLUSIVE
    result["follows"] = follows
    result["detail"] += f" (may follow from {follows}: {said})"


def _settle_unserved(results: Results) -> None:
    """Of the tests whose connections were too many for the IUT, one requirement fails."""
    limit = unserved(results)
    met = limit.met
    bad = [result for result in met if result["verdict"] in VIOLATIONS]
    if not bad:
        return
    about = Counter(
        one["requirement"]
        for result in met
        for one in (result, *result["findings"])
        if one is result or one["concluded"]
    )

    def order(result: Mapping[str, Any]) -> tuple[bool, int]:
        return result["verdict"] != Verdict.FAIL, -about[result["requirement"]]

    stands = min(bad, key=order)["requirement"]
    for result in met:
        for finding in result["findings"]:
            if finding["concluded"] or finding["at_end"]:
                finding["follows"] = finding["follows"] or stands
    for result in bad:
        if result["requirement"] != stands:
            _demote(result, stands, f"{limit.most} are served")


class Limit(NamedTuple):
    """How many connections one instance serves ``most``, in words, and what further ones decided.

    ``met`` is empty where there is no limit.
    """

    most: str
    met: Results


def unserved(results: Results) -> Limit:
    """The limit of an IUT that serves only so many connections, or so many at a time.

    It is known where none was ever served that came later, and where two requirements show it: in
    a single test the cause may be what was done in the connections before.
    """
    for served, further, when in (("served", "unserved", ""), ("at_once", "crowded", " at a time")):
        most = max((result[served] for result in results), default=0)
        met = [result for result in results if result[further] > most > 0]
        if len({result["requirement"] for result in met}) > 1:
            number = "one connection" if most == 1 else f"{most} connections"
            return Limit(f"only {number}{when}", met)
    return Limit("", [])


def _settle_deaths(results: Results, protocol: Protocol) -> None:
    """Of the tests that met the same death after the same message, one requirement fails."""
    for met in alike(results):
        bad = [
            result for result in met if result["verdict"] in VIOLATIONS and result["death"]["met"]
        ]
        stands = _deadly(bad, protocol)
        for result in met:
            for finding in result["findings"]:
                if finding["at_death"] and finding["requirement"] != stands:
                    finding["follows"] = finding["follows"] or stands
        for result in bad:
            if result["requirement"] != stands:
                _demote(result, stands, f"the same end, after {result['death']['after']}")


def _deadly(met: Results, protocol: Protocol) -> str:
    """The requirement that stands for a death: one that fails and that others presume, if any."""

    def order(result: Mapping[str, Any]) -> tuple[bool, int, int]:
        name = result["requirement"]
        resting = sum(name in presumes(other["requirement"], protocol) for other in met)
        # The shortest session shows best what it died of.
        return result["verdict"] != Verdict.FAIL, -resting, result["death"]["events"]

    return str(min(met, key=order)["requirement"]) if met else ""


def alike(results: Results) -> list[list[dict[str, Any]]]:
    """The tests that met the same death, which is told to be after the message that they share."""
    survived = Counter(kind for one in results if not one["death"] for kind in set(one["told"]))
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    apart = {result["id"] for result in unserved(results).met}
    for result in results:
        if result["id"] in apart:
            continue
        if result["death"] and result["verdict"] in (*VIOLATIONS, Verdict.INCONCLUSIVE):
            death = result["death"]
            # Where no reason was said only the messages tell one death from another.
            words = _in_general(_reason(death)) or _suspect([result], survived)
            # One that is named is one, however much of its end was seen.
            how = "" if last_words.named(death["said"]) else death["how"]
            groups.setdefault((how, words), []).append(result)
    found = []
    for left in groups.values():
        while left:
            deadly = _suspect(left, survived)
            # One error that is named is one, whatever brought it about.
            named = last_words.named(left[0]["death"]["said"])
            met = [result for result in left if named or deadly in (*result["told"], "")]
            for result in met:
                result["death"]["after"] = deadly
            found.append(met)
            left = [result for result in left if result not in met]
    return found


def _reason(death: Mapping[str, Any]) -> str:
    """What an IUT said that it died of; empty where that is no more than the end of its log."""
    said = str(death["said"])
    return said if last_words.may_explain(said) else ""


def _in_general(said: str) -> str:
    """An error without what it tells of its input, such as the name behind the second colon.

    Of a panic that is the line of the program: what is behind it is of the input as a whole.
    """
    if place := _PANICKED.search(said):
        return place[1]
    text = _VARIES.sub("…", said)
    error, _, name = text.rpartition(": ")
    return error if ": " in error and " " not in name else text


def _suspect(died: Results, survived: Mapping[str, int]) -> str:
    """The kind of message that most probably kills: it is in these tests, and seldom survived.

    The measure is Ochiai's, as for the parts of a program that failing tests have in common. Of
    what is alike the latest is taken; and where each has died behind one of some kinds, without
    a word in between, it is of these.
    """
    sent = Counter(kind for result in died for kind in set(result["told"]))
    latest = [kind for result in died for kind in result["told"]]

    def suspicion(kind: str) -> tuple[float, int]:
        return sent[kind] ** 2 / (sent[kind] + survived.get(kind, 0)), latest.index(kind)

    behind = [set(result["death"]["unanswered"]) for result in died]
    return max(set.intersection(*behind) or sent, key=suspicion, default="")


def _failed_before(result: Mapping[str, Any], finding: Mapping[str, Any]) -> bool:
    """Whether a test has failed in the session of a finding, and not later than that."""
    if result["transcript"] != finding["transcript"]:
        return False
    failed, found = result["offending"], finding["event"]
    return failed is None or (found is not None and bool(failed <= found))


def _stands_before(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a finding is of the same transcript, and not later in it than the other one.

    What a test concludes of no one event is of the whole of it.
    """
    if one is other or one["transcript"] != other["transcript"]:
        return False
    if one["event"] is None or other["event"] is None:
        return all(each["concluded"] or each["event"] is not None for each in (one, other))
    return bool(one["event"] <= other["event"])


def _explained(requirement: str, findings: Iterable[Mapping[str, Any]], protocol: Protocol) -> str:
    """The requirement among those of the findings that this one presumes; else nothing."""
    presumed = set(presumes(requirement, protocol))
    return next(
        (entry["requirement"] for entry in findings if entry["requirement"] in presumed), ""
    )


def presumes(requirement: str, protocol: Protocol) -> list[str]:
    """What a requirement rests on, directly or by way of others."""
    found: list[str] = []
    left = [requirement]
    while left:
        entry = protocol.requirements.get(left.pop())
        new = [name for name in (entry.presumes if entry else ()) if name not in found]
        found += new
        left += new
    return [name for name in found if name != requirement]
