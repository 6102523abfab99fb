"""The operations of an owner of buffers, as they are tried on an arm."""

from conformance.runtime.memory.operations import Operation
from conformance.runtime.memory.tester import new_uid

SET_VALID = Operation("set_valid", {"valid": False}, ("valid",))
"""The one that does not ask whether the buffer is valid."""
OPERATIONS = (
    Operation(
        "set_data",
        {"values": {"speed": -77, "track": [0.5, 1.5, -2.5], "light": False}},
        (
            *("read.params.speed", "read.params.track", "read.params.light"),
            *("read.timestamp", "control.update"),
        ),
    ),
    Operation(
        "set_sub",
        {"uid": str(new_uid()), "params": ["angle", "light"], "delay": 123},
        ("control.uid", "control.subscription", "control.delay"),
    ),
    Operation("set_read", {"params": ["speed", "light"]}, ("control.read",)),
    Operation("get_read", {}, ("control.read",)),
    Operation("get_write", {}, ("control.write",)),
)
