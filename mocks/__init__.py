"""Reference mocks: a complete, runnable implementation of each role, with faults and variants.

A role `PROTOCOL/ROLE` is the module `mocks.PROTOCOL.ROLE` (a hyphen becomes an underscore) with

    PEER                                             the class of the mock
    def options(parser: argparse.ArgumentParser)     adds the options of this role
    async def main(args: argparse.Namespace, peer: type[PEER]) -> int
                                                     plays the role to its end; the exit status
and
    def of_peer(frame: Frame) -> bool                returns whether a peer of this protocol sent
                                                     the frame; optional, if others can connect

`args` also has `listen` and `connect` (an address or None; at most one is given). The sound mock
does each thing in a small method, and knows nothing of deviations. Deviations are subclasses in
`mocks/PROTOCOL/faults/` and `mocks/PROTOCOL/variants/`, a module for each topic. They override as
little as possible (see `mocks.deviations`). `mocks/PROTOCOL/ROLE.toml` is the configuration with
which the suite runs the mock as an implementation under test.

    python -m mocks vexide/simulator --listen 127.0.0.1:5000 --fault ready-twice
"""
