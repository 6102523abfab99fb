"""Parties of a connection: the server and client of each port in a protocol."""

from dataclasses import dataclass

from conformance.configuration import ConfigurationError
from conformance.definitions.protocol import Protocol


@dataclass(frozen=True)
class Side:
    """A port: its server, its client, and the possible transports."""

    server: str
    client: str
    transports: tuple[str, ...]
    channel: str = ""
    port: int = 0
    """The default port for clients; 0 if the protocol has no default."""


def sides(protocol: Protocol, role: str = "") -> list[Side]:
    """Return the ports of a pair of peers; ``role`` selects the pair if there are several.

    Raises ConfigurationError if ``role`` does not select a pair, or a pair without a wire.
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
            f"expected a pair of peers: {' or '.join(names)}" if not role or not chosen else role
        )
    return chosen[0]
