"""Transport of an IUT, from its command or address, and the listeners for each transport."""

import importlib.util
import socket
from typing import TYPE_CHECKING, TypeAlias

from conformance.configuration import Configuration, ConfigurationError
from conformance.definitions import protocols
from conformance.definitions.protocol import Role
from conformance.harness import links
from conformance.harness.datagrams import DatagramListener
from conformance.harness.links import Listener

if TYPE_CHECKING:
    # This import is slow and needs an optional package.
    from conformance.harness.zeromq import ZeroListener

SOCKETS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM, "zmq": socket.SOCK_STREAM}
"""Transports with ports, and the kind of their sockets."""
_BINDINGS = {"stream": "tcp", "datagram": "udp", "zmq": "zmq"}

AnyListener: TypeAlias = "Listener | DatagramListener | ZeroListener"


async def listen(role: Role, kind: str, address: str) -> AnyListener:
    """Listen at an address for the messages of a role. Raises OSError."""
    if kind == "zmq":
        from conformance.harness import zeromq

        messages = protocols.load(role.protocol).messages
        answers = any(sender == role.peer for sender, _ in messages)
        return await zeromq.ZeroListener(answers).start(address)
    return await (DatagramListener() if kind == "udp" else Listener()).start(address)


def transport(configuration: Configuration) -> str:
    """Return the transport of the IUT, from its address or command.

    Raises ConfigurationError if the role does not support this transport.
    """
    role = configuration.role
    address = configuration.connect or configuration.listen
    if role.transports == ("none",):
        if address:
            raise ConfigurationError(f"{role} has no wire: give its command, not an address")
        return "none"
    if address:
        _addresses(role, address)
        unix = isinstance(links.parse_address(address.split(",")[0]), str)
        kind = "unix" if unix else _network(configuration)
    else:
        kind = _placeholder_transport(configuration)
    if kind not in role.transports:
        raise ConfigurationError(
            f"{role} speaks over {' or '.join(role.transports)}, not {kind}: "
            f"put {_required_addresses(role)} into its command"
        )
    if kind == "zmq" and importlib.util.find_spec("zmq") is None:
        raise ConfigurationError("ZeroMQ needs pyzmq: pip install 'conformance[zmq]'")
    return kind


def _addresses(role: Role, addresses: str) -> None:
    """Raise ConfigurationError unless there is an address for each channel of a role."""
    wanted, given = role.channels or ("",), addresses.split(",")
    for address in given:
        links.parse_address(address)
    if len(given) != len(wanted):
        option = "--connect" if role.serves else "--listen"
        form = ",".join(f"{channel.upper()}_ADDR".lstrip("_") for channel in wanted)
        raise ConfigurationError(
            f"{option} {addresses}: {role} needs {len(wanted)} "
            f"{'address' if len(wanted) == 1 else 'addresses'}, {option} {form}"
        )


def _placeholder_transport(configuration: Configuration) -> str:
    role, command = configuration.role, " ".join(configuration.command)
    if "{socket}" in command:
        return "unix"
    ports = [f"{{{channel}_port}}" for channel in role.channels] or ["{port}"]
    if any(name in command for name in (*ports, "{url}")):
        return _network(configuration)
    return "stdio"


def _network(configuration: Configuration) -> str:
    """Return the transport of a port: the declared one, or the first of the role."""
    declared = _BINDINGS.get(configuration.ixit.get("binding", ""))
    return declared or next(
        (kind for kind in configuration.role.transports if kind in SOCKETS), "tcp"
    )


def _required_addresses(role: Role) -> str:
    if role.bridge:
        return f"{{{role.bridge}}} or {{port}}"
    if role.channels:
        return " and ".join(f"{{{channel}_port}}" for channel in role.channels)
    return "{port} or {socket}" if "unix" in role.transports else "{port}"
