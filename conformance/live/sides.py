"""Who talks to whom in a protocol: the two parties of a connection, for each port of a server."""

from dataclasses import dataclass

from conformance.configuration import ConfigurationError
from conformance.definitions.protocol import Protocol


@dataclass(frozen=True)
class Side:
    """One port: who serves there, who connects to it, and over what they can talk."""

    server: str
    client: str
    transports: tuple[str, ...]
    channel: str = ""
    port: int = 0
    """Where its clients find it if nothing else is said; 0 where the protocol has no such port."""


def sides(protocol: Protocol, role: str = "") -> list[Side]:
    """The ports of one pair of peers; ``role`` is one of them where the protocol has several pairs.

    Raises ConfigurationError where it does not say which pair is meant, or one that has no wire.
    """
    found: dict[str, list[Side]] = {}
    for entry in protocol.roles.values():
        if entry.transports == ("none",):
            continue
        clients = entry.channels if entry.serves else ()
        for channel, port in zip(clients, entry.ports or (0,) * len(clients), strict=True):
            found.setdefault(entry.name, []).append(
                Side(entry.name, channel, entry.transports, channel, port)
            )
        if not clients:
            server, client = (entry.name, entry.peer) if entry.serves else (entry.peer, entry.name)
            if not any(side.client == client for each in found.values() for side in each):
                found.setdefault(server, []).append(Side(server, client, entry.transports))
    chosen = [
        each
        for each in found.values()
        if not role or any(role in (side.server, side.client) for side in each)
    ]
    if len(chosen) != 1:
        names = sorted(f"{protocol.name}/{server}" for server in found)
        raise ConfigurationError(
            f"say between which peers: {' or '.join(names)}" if not role or not chosen else role
        )
    return chosen[0]
