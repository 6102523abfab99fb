"""The executable that an IUT starts as its peer: bridges its standard streams to the suite.

Run as ``python bridge.py ADDRESS``, it connects twice to the unix socket ADDRESS: once for the wire
(standard input and output) and once for what the suite writes to its standard error. It ends once
the suite has ended both: while the suite keeps the second, only the IUT can end the wire.
It is started by the IUT, so it imports nothing of the suite and nothing that is slow.
"""

import os
import socket
import sys
import threading

WIRE, ERRORS = b"w", b"e"


def main(address: str) -> int:
    wire, errors = _connect(address, WIRE), _connect(address, ERRORS)
    threading.Thread(target=_from_stdin, args=(wire,), daemon=True).start()
    complaints = threading.Thread(target=_copy, args=(errors, 2), daemon=True)
    complaints.start()
    _copy(wire, 1)
    complaints.join()
    # The reading thread may be blocked in a read that never returns.
    os._exit(0)


def _connect(address: str, kind: bytes) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)
    connection.sendall(kind)
    return connection


def _from_stdin(wire: socket.socket) -> None:
    try:
        while data := os.read(0, 65536):
            wire.sendall(data)
        wire.shutdown(socket.SHUT_WR)
    except OSError:
        os._exit(1)


def _copy(source: socket.socket, target: int) -> None:
    try:
        while data := source.recv(65536):
            while data:
                data = data[os.write(target, data) :]
        os.close(target)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
