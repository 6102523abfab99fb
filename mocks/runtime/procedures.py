"""Procedures of the RPC server that its user declares, and those of a robot as services have them.

A file of procedures is a YAML or JSON object by their names. What one does is an object with any of

    result: VALUE      what it returns; nil where nothing is said
    results: [VALUE]   what one call after another returns, and from the last on always that
    error: VALUE       it fails with this error, of whatever shape
    delay: S           seconds until it returns or fails
    keep: NAME         it keeps its arguments under a name
    kept: NAME         it returns the arguments kept there last, or `result` before that
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mocks import given

Procedure = Callable[..., Any]

_WORDS = {"result", "results", "error", "delay", "keep", "kept"}


class Failed(Exception):
    """A procedure has failed; `error`, any object but None, says how."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


def read(path: Path) -> dict[str, Procedure]:
    """The procedures of a file. Raises ValueError or OSError."""
    loaded = given.load(path)
    if not isinstance(loaded, dict):
        raise ValueError(f"{path}: an object of procedures by their names was expected")
    kept: dict[str, Any] = {}
    found = {}
    for name, does in loaded.items():
        try:
            found[str(name)] = declared(does, kept)
        except ValueError as error:
            raise ValueError(f"{path}: {name}: {error}") from None
    return found


def declared(does: Any, kept: dict[str, Any]) -> Procedure:
    """A procedure that does what an object says; `kept` is what procedures keep for each other.

    Raises ValueError.
    """
    if not isinstance(does, Mapping) or does.keys() - _WORDS:
        raise ValueError(f"an object of {', '.join(sorted(_WORDS))} was expected")
    results = does.get("results", [does.get("result")])
    delay = does.get("delay", 0)
    if not isinstance(results, list) or not results:
        raise ValueError("results: a list was expected")
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay < math.inf:
        raise ValueError("delay: a number of seconds was expected")
    if does.get("error", "") is None:
        raise ValueError("error: nil is no error")
    calls = 0

    async def procedure(*args: Any) -> Any:
        nonlocal calls
        result = results[min(calls, len(results) - 1)]
        calls += 1
        await asyncio.sleep(delay)
        if "error" in does:
            raise Failed(does["error"])
        if "keep" in does:
            kept[str(does["keep"])] = args[0] if len(args) == 1 else list(args)
        return kept.get(str(does["kept"]), result) if "kept" in does else result

    return procedure


class Robot:
    """A robot with two devices, as the broker, device and executor services have it.

    It only acts as if: nothing is measured or moved, and code is not executed.
    """

    def __init__(self) -> None:
        self.options: dict[str, Any] = {"log_level": "info", "health_check_interval": 60.0}
        self.devices = ["18446744073709551616", "226673591177742970880"]
        self.mode = "idle"

    def procedures(self) -> dict[str, Procedure]:
        known = (self.get_option, self.set_option, self.lint, self.update_gamepads, self.list_uids)
        more = (self.ping, self.disable, self.subscribe, self.unsubscribe, self.read)
        modes = {mode: self._entering(mode) for mode in ("idle", "auto", "teleop", "estop")}
        last = (self.heartbeat, self.execute)
        return {each.__name__: each for each in (*known, *more, *last)} | modes

    def get_option(self, option: str | None = None) -> Any:
        if option is None:
            return self.options
        if option not in self.options:
            raise Failed({"message": "no such option", "option": option})
        return self.options[option]

    def set_option(self, options: Mapping[str, Any]) -> None:
        self.options.update(options)

    def lint(self) -> list[Any]:
        return []

    def update_gamepads(self, gamepads: Mapping[str, Any]) -> None: ...

    def list_uids(self) -> list[str]:
        return self.devices

    def ping(self, uids: Any = None) -> None:
        self._known(uids)

    def disable(self, uids: Any = None) -> None:
        self._known(uids)

    def unsubscribe(self, uids: Any = None) -> None:
        self._known(uids)

    def subscribe(self, uid: str, params: Any = None, interval: Any = None) -> None:
        self._known(uid)

    def read(self, uid: str, params: Any = None) -> None:
        self._known(uid)

    async def heartbeat(self, uid: str, number: int = 0, within: float = 1.0) -> float:
        self._known(uid)
        await asyncio.sleep(0.002)
        return 0.002

    def execute(self, functions: list[Any], block: bool = False, gamepads: bool = True) -> Any:
        return [None] * len(functions) if block else []

    def _entering(self, mode: str) -> Procedure:
        def enter() -> None:
            self.mode = mode

        return enter

    def _known(self, uids: Any) -> None:
        """Raise Failed where one of these, a list or a single one, is the UID of no device."""
        for uid in uids if isinstance(uids, list) else [] if uids is None else [uids]:
            if uid not in self.devices:
                raise Failed({"message": "no such device", "uid": uid})
