"""Procedures of the RPC server: declared in a file, or those of a robot's services.

A file of procedures is a YAML or JSON object from names to procedures. Each procedure is an object
with any of these keys:

- `result: VALUE`: the return value; default nil
- `results: [VALUE]`: the return values of consecutive calls; the last value is repeated
- `error: VALUE`: the procedure fails with this error, which can be any value
- `delay: S`: seconds until the procedure returns or fails
- `keep: NAME`: store the arguments under a name
- `kept: NAME`: return the arguments stored last under a name, or `result` before that
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mocks import option_files

Procedure = Callable[..., Any]

_WORDS = {"result", "results", "error", "delay", "keep", "kept"}


class Failed(Exception):
    """A procedure has failed; `error` is the error object, any value except None."""

    def __init__(self, error: Any) -> None:
        super().__init__(str(error))
        self.error = error


def read(path: Path) -> dict[str, Procedure]:
    """Return the procedures of a file. Raises ValueError or OSError."""
    loaded = option_files.load(path)
    if not isinstance(loaded, dict):
        raise ValueError(f"{path}: expected an object from names to procedures")
    kept: dict[str, Any] = {}
    found = {}
    for name, does in loaded.items():
        try:
            found[str(name)] = make_procedure(does, kept)
        except ValueError as error:
            raise ValueError(f"{path}: {name}: {error}") from None
    return found


def make_procedure(does: Any, kept: dict[str, Any]) -> Procedure:
    """Return the procedure of a declaration; `kept` stores arguments for all procedures.

    Raises ValueError.
    """
    if not isinstance(does, Mapping) or does.keys() - _WORDS:
        raise ValueError(f"expected an object with keys of {', '.join(sorted(_WORDS))}")
    results = does.get("results", [does.get("result")])
    delay = does.get("delay", 0)
    if not isinstance(results, list) or not results:
        raise ValueError("results: expected a list that is not empty")
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay < math.inf:
        raise ValueError("delay: expected a number of seconds")
    if does.get("error", "") is None:
        raise ValueError("error: expected a value that is not nil")
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
    """A simulated robot with two devices, with the broker, device and executor services.

    Nothing is measured or moved, and no code is executed.
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
        """Raise Failed if a UID, or any in a list, belongs to no device."""
        for uid in uids if isinstance(uids, list) else [] if uids is None else [uids]:
            if uid not in self.devices:
                raise Failed({"message": "no such device", "uid": uid})
