"""A dictionary of bounded size that drops its oldest entries."""

from collections import OrderedDict
from typing import TypeVar

MAX_ENTRIES = 10_000  # more entries than any peer has open requests, or refers back to

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedDict(OrderedDict[_Key, _Value]):
    """A bounded dictionary, for state that would grow during a session of hours."""

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        if len(self) > MAX_ENTRIES:
            self.popitem(last=False)
