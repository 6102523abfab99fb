"""What faults of the simulator share: messages that are altered on their way out."""

from copy import deepcopy
from typing import Any

from conformance.vexide.codec import name_of
from mocks.vexide.simulator import Simulator


class Altering(Simulator):
    """Alters what it sends: `alter` may change the content of a message, a copy, in place."""

    def send(self, message: Any) -> None:
        copy = deepcopy(message)
        name = name_of(copy)
        if name is not None and isinstance(copy, dict):
            self.alter(name, copy[name])
        super().send(copy)

    def alter(self, name: str, content: Any) -> None:
        raise NotImplementedError
