"""Senders of datagrams that exit, are silent, or only answer operations.

There are no connections. Only sent datagrams and answers show that the program runs.
"""

import sys

import pytest

from conformance.selftest.driving import Place

ROLES = ("runtime/gamepad-sender", "runtime/update-publisher")
TIMINGS = ("--timing", "startup=3", "--timing", "response=0.3")
ENDS = "import sys; sys.exit('no joystick is there')"
SILENT = "import time; time.sleep(60)"
NO_ANSWER = "[print('welcome', flush=True) for _ in open(0)]"
ONLY_ANSWERS = """
import json
for line in open(0):
    print(json.dumps({"id": json.loads(line)["id"], "ok": True}), flush=True)
"""


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    ("program", "code", "expected"),
    [
        (
            ENDS,
            3,
            "it exited before it sent a message; the process exited with code 1",
        ),
        (SILENT, 3, "it sent nothing within 3.3 s, and does not answer the operation"),
        (NO_ANSWER, 3, "it wrote 'welcome', which is no answer"),
        (ONLY_ANSWERS, 1, "expected a message after the operation"),
    ],
    ids=["ends", "silent", "no answer", "only answers"],
)
def test_one_message_says_what_it_lacks(
    place: Place, role: str, program: str, code: int, expected: str
) -> None:
    """The smoke session reports it, and no test runs."""
    done = place.run(role, *TIMINGS, iut=[sys.executable, "-c", program, "{host}", "{port}"])
    assert expected in done.smoke["detail"]
    assert done.code == code
    assert [test["id"] for test in done.report["tests"]] == ["smoke"]
    assert not done.left
