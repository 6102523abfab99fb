"""Readers that are not written well, for the faults of every role."""

from typing import Any

from conformance.codec import Frame
from conformance.simspark.codec import Decoder
from mocks.simspark.agent_port import Agent
from mocks.simspark.connection import Connection
from mocks.simspark.monitor_port import Monitor
from mocks.simspark.server import Server
from mocks.streams import Stream


class Forgetful(Decoder):
    """Takes each read for whole messages."""

    def feed(self, data: bytes) -> list[Frame]:
        return Decoder().feed(data)


class Single(Decoder):
    """Takes the first message of a read, and drops what else it brings."""

    def feed(self, data: bytes) -> list[Frame]:
        return super().feed(data)[:1]


class CutLengths(Decoder):
    """Loses a length of which not all bytes have come yet."""

    def feed(self, data: bytes) -> list[Frame]:
        frames = super().feed(data)
        if len(self._held) < 4:
            self._held.clear()
        return frames


class SixteenBits(Decoder):
    """Takes only the two lower bytes of a length for the length."""

    def feed(self, data: bytes) -> list[Frame]:
        self._held += data
        frames: list[Frame] = []
        while len(self._held) >= 4:
            size = int.from_bytes(self._held[2:4], "big")
            if len(self._held) < 4 + size:
                break
            frames += Decoder().feed(size.to_bytes(4, "big") + bytes(self._held[4 : 4 + size]))
            del self._held[: 4 + size]
        return frames


class Reading:
    """Mixed into a client, it reads with another reader."""

    reader: type[Any]

    def make_connection(self, stream: Stream) -> Connection:
        connection = Connection(stream)
        connection.decoder = self.reader()
        return connection


class ReadingMonitors(Server):
    """A server that reads with another reader what monitors say."""

    reader: type[Any]

    def new_monitor(self, stream: Stream) -> Monitor:
        monitor = super().new_monitor(stream)
        monitor.decoder = self.reader()
        return monitor


class ReadingAgents(Server):
    """A server that reads with another reader what agents say."""

    reader: type[Any]

    def new_agent(self, stream: Stream) -> Agent:
        agent = super().new_agent(stream)
        agent.decoder = self.reader()
        return agent
