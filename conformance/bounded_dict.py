"""A dictionary of bounded size that drops its oldest entries."""

from collections import OrderedDict
from typing import TypeVar

MOST = 10_000  # entries: more than any peer has open requests, or refers back to

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedDict(OrderedDict[_Key, _Value]):
    """A bounded dictionary, for state that would grow during a session of hours."""

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        if len(self) > MOST:
            self.popitem(last=False)
