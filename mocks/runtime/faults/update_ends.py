"""Faults of the update publisher that end its process at a certain update."""

from mocks.deviations import Subtle, Table
from mocks.runtime.update_publisher import Publisher
from mocks.steps import after, before, exit_process, having, since

PUBLISHER = Table(Publisher)

PUBLISHER["update.all-uids"] = {
    "ends-without-devices": Subtle(
        "Exits when it sends an update after all devices have disconnected.",
        before("update", exit_process, since(having("devices")) & ~having("devices")),
    ),
}

PUBLISHER["update.changed"] = {
    "ends-after-25-updates": Subtle(
        "Exits after 25 updates.",
        before("update", exit_process, after(25)),
    ),
}
