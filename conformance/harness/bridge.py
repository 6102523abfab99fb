"""Executable that an IUT starts as its peer, connected to the suite.

``python bridge.py ADDRESS`` opens two connections to the unix socket ADDRESS. The first connection
carries the wire (standard input and output). The second carries the suite's text for standard
error. The bridge exits after the suite has closed both. While the suite keeps the second connection
open, only the IUT can end the wire.

The IUT starts the bridge, so the bridge imports nothing of the suite. Imports are most of its run
time. Therefore it uses the C modules of ``socket`` and ``threading``, which load in half the time.
"""

import _socket
import _thread
import os
import sys

WIRE, ERRORS = b"w", b"e"


def main(address: str) -> int:
    wire, errors = _connect(address, WIRE), _connect(address, ERRORS)
    _thread.start_new_thread(_from_stdin, (wire,))
    errors_ended = _thread.allocate_lock()
    errors_ended.acquire()
    _thread.start_new_thread(_copy_errors, (errors, errors_ended))
    _copy(wire, 1)
    errors_ended.acquire()
    # The reading thread can be blocked in a read that never returns.
    os._exit(0)


def _connect(address: str, kind: bytes) -> _socket.socket:
    connection = _socket.socket(_socket.AF_UNIX)
    connection.connect(address)
    connection.sendall(kind)
    return connection


def _copy_errors(errors: _socket.socket, ended: _thread.LockType) -> None:
    _copy(errors, 2)
    ended.release()


def _from_stdin(wire: _socket.socket) -> None:
    try:
        while data := os.read(0, 65536):
            wire.sendall(data)
        wire.shutdown(_socket.SHUT_WR)
    except OSError:
        os._exit(1)


def _copy(source: _socket.socket, target: int) -> None:
    try:
        while data := source.recv(65536):
            while data:
                data = data[os.write(target, data) :]
        os.close(target)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
