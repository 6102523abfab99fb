"""Reference peers: one complete, runnable implementation of each role, and how each can deviate.

A role `PROTOCOL/ROLE` is the module `mocks.PROTOCOL.ROLE` (a hyphen becomes an underscore) with

    PEER                                             the class of the mock
    def options(parser: argparse.ArgumentParser)     adds the options of this role
    async def main(args: argparse.Namespace, peer: type[PEER]) -> int
                                                     plays the role to its end; the exit status

    def of_peer(frame: Frame) -> bool                whether a peer of this protocol has sent it;
                                                     left out where nobody else connects

`args` also has `listen` and `connect` (an address or None; at most one is given). The usual mock
does each thing in a small method of its own and knows nothing of deviations. These stand in
`mocks/PROTOCOL/faults/` and `mocks/PROTOCOL/variants/`, a module a topic: subclasses that override
as little as they can (see `mocks.deviations`). `mocks/PROTOCOL/ROLE.toml` is the configuration
with which the suite runs the mock as an implementation under test.

    python -m mocks vexide/simulator --listen 127.0.0.1:5000 --fault ready-twice
"""
