"""A server with txmsgpackrpc (PyPI)."""

import sys

from procedures import ALL
from twisted.internet import reactor, task
from txmsgpackrpc.server import MsgpackRPCServer


class Server(MsgpackRPCServer):
    def remote_sleep(self, seconds):
        return task.deferLater(reactor, seconds, lambda: None)


for name, call in ALL.items():
    if name != "sleep":
        setattr(Server, f"remote_{name}", staticmethod(call))
reactor.listenTCP(int(sys.argv[1]), Server().getStreamFactory(), interface="127.0.0.1")
reactor.run()
