"""One module a command: ``options(parser)``, and ``execute(args)``, which returns the exit code."""
