"""A memory of so many entries, which forgets those first that were added first."""

from collections import OrderedDict
from typing import TypeVar

MOST = 10_000  # entries; nobody leaves more requests open, or comes back to one of longer ago

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(OrderedDict[_Key, _Value]):
    """Bounds what a session of hours has to remember."""

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        if len(self) > MOST:
            self.popitem(last=False)
