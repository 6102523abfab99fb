"""The errors of two calls show whether a procedure exists."""

from typing import Any

import pytest

from conformance.runtime.rpc_server.tester import same_error


@pytest.mark.parametrize(
    ("failing", "unknown", "same"),
    [
        ("no method fail", "no method absent", True),
        ("as you wish", "no method absent", False),
        (
            {"code": -1, "message": "as you wish"},
            {"code": -1, "message": "no method absent"},
            False,
        ),
        ({"code": 7, "message": "fail: unknown"}, {"code": 8, "message": "absent: unknown"}, True),
        (["KeyError", "fail", {"id": 120}], ["KeyError", "absent", {"id": 121}], True),
        (["RuntimeError", ["at line 3"]], ["KeyError", ["absent"]], False),
        (1, 2, True),
    ],
)
def test_errors_that_say_the_same(failing: Any, unknown: Any, same: bool) -> None:
    assert same_error(failing, "fail", unknown, "absent") is same
