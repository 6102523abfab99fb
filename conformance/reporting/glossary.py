"""The words of conformance testing that a page uses, and what they mean."""

GLOSSARY = {
    "IUT": "The implementation under test: the program that this report is about.",
    "requirement": "One statement of the specification. A violated must is a failure, a violated "
    "should is a warning.",
    "smoke session": "The session that a run begins with: does the IUT start, speak, and play its "
    "role? If not, nothing else is tried.",
    "IXIT": "What the suite must be told to drive an IUT: its command or address, how long it may "
    "take, which programs it can run. It stands in conformance.toml or on the command line.",
    "upper tester": "The side of an IUT that is not its wire: a user's hand, or a program's call. "
    "The suite reaches it by hooks, or over the standard streams of the IUT.",
    "oracle": "The judge of what may follow what. It watches every session of every test, whatever "
    "the test is for. What it finds is counted against the requirement that is violated.",
    "finding": "A violation that the oracle or a schema has seen in a session.",
    "reading": "A requirement on which the specification is silent or open, and how this suite "
    "understands it. At most a warning.",
    "not exercised": "The means to try it were missing; the reason says what to provide.",
    "inconclusive": "It was tried, and the evidence does not decide it.",
    "known": "It fails as the list of known failures says, and so does not count.",
    "counterexample": "The smallest session that still shows a failure of drawn messages. "
    "`conformance replay` plays it again.",
}
