"""Sensor data of the reference robot, over a websocket or to a REST address."""

import asyncio
import base64
import secrets
from collections.abc import Callable
from typing import Any

from conformance.openroberta.codec import UPGRADE, encode, request
from mocks.openroberta.http import Caller

WEBSOCKET, REST = "/ws/", "/rest/sensorlogging"
PATIENCE = 5.0  # seconds to wait for an answer


class Sensors:
    """Sends the result of `measure` once in each period of `every` seconds."""

    def __init__(self, caller: Caller, measure: Callable[[], dict[str, Any]], every: float) -> None:
        self._caller = caller
        self._measure = measure
        self._every = every

    async def play(self, headers: dict[str, str]) -> None:
        """Send until the task is cancelled or both addresses refuse the data."""
        try:
            send = self.frame if await self.upgraded(headers) else self.post
            wanted = True
            while wanted:
                wanted = await send(headers)
                await asyncio.sleep(self._every)
        finally:
            await self._caller.close()

    async def upgraded(self, headers: dict[str, str]) -> bool:
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        asked = {"sec-websocket-key": key, "sec-websocket-version": "13"}
        kept = {name: text for name, text in headers.items() if name.lower() != "connection"}
        value = request("GET", WEBSOCKET, {**kept, **UPGRADE, **asked})
        answer = await self._caller.ask(value, PATIENCE, keep=True)
        return answer is not None and answer.name == "SensorUpgraded"

    async def frame(self, headers: dict[str, str]) -> bool:
        try:
            stream = await self._caller.open()
        except OSError:
            return False
        stream.write(encode({"opcode": "text", "masked": True, "json": self._measure()}))
        return True

    async def post(self, headers: dict[str, str]) -> bool:
        value = request("POST", REST, headers, self._measure())
        answer = await self._caller.ask(value, PATIENCE)
        return answer is not None and answer.name != "Refusal"
