"""The subcommands of ``conformance``, each in its own module.

A module has ``options``, which adds the subcommand's options, and ``execute``, which returns the
exit code. `conformance.cli` imports only the module of the requested subcommand.
"""
