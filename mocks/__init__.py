"""Reference peers: one complete, runnable implementation of each role, and the faults of each.

A role `PROTOCOL/ROLE` is the module `mocks.PROTOCOL.ROLE` (a hyphen becomes an underscore) with

    PEER                                             the class of the sound mock
    def options(parser: argparse.ArgumentParser)     adds the options of this role
    async def main(args: argparse.Namespace, peer: type[PEER]) -> int
                                                     plays the role to its end; the exit status

`args` also has `listen` and `connect` (an address or None; at most one is given). Beside it stands
`mocks.PROTOCOL.ROLE_faults`, a module or a package of modules: subclasses of `PEER`, each of which
overrides as little as it can and is declared with `mocks.fault.fault`. To make that possible the
sound mock does each thing in a small method of its own; it knows nothing of faults. Nothing else
lists the roles: a new module is found. `mocks/PROTOCOL/ROLE.toml` is the configuration with which
the suite runs the mock as an implementation under test.

    python -m mocks vexide/simulator --listen 127.0.0.1:5000 --fault ready-twice
"""
