"""The words of conformance testing that a page explains."""

GLOSSARY = {
    "IUT": "The implementation under test: the program that this report is about.",
    "requirement": "One statement of the specification. A violated must is a failure, a violated "
    "should is a warning.",
    "smoke session": "The first session of a run. It checks that the IUT starts, sends messages "
    "and plays its role. If the smoke session fails, no test runs.",
    "IXIT": "The settings that the suite needs to drive an IUT: its command or address, its "
    "timings, its programs. They are in conformance.toml or on the command line.",
    "upper tester": "The side of an IUT that is not its wire, such as a user's touch or a function "
    "call. The suite uses hooks, or the standard streams of the IUT.",
    "oracle": "The judge of the order of messages. It judges every session of every test. Each "
    "finding counts against the requirement that is violated.",
    "finding": "A violation that the oracle or a schema has found in a session.",
    "reading": "A requirement that the specification leaves open, as this suite interprets it. A "
    "violation is at most a warning.",
    "not exercised": "The run did not try the requirement; the reason says what to provide.",
    "inconclusive": "The run tried the requirement, and the evidence does not decide.",
    "known": "The requirement fails as the list of known failures says, so it does not count.",
    "counterexample": "The smallest session that shows a failure of drawn messages. "
    "`conformance replay` plays it again.",
}
