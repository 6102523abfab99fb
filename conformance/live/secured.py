"""TLS at both sides of a relay, which is nothing that a protocol is judged by."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from conformance.configuration import ConfigurationError

SECURED = "https://"
"""How the address of a server begins that is reached by TLS."""


@dataclass(frozen=True)
class Security:
    """What clients are shown, or None where they come without TLS; and what servers may show."""

    shown: ssl.SSLContext | None
    trusted: ssl.SSLContext

    def of(self, target: str) -> ssl.SSLContext | None:
        """What a server at an address is asked to show, if it is one that is reached by TLS."""
        return self.trusted if target.startswith(SECURED) else None


def security(certificate: Path | None, trust: Path | None) -> Security:
    """From files in PEM: the certificate that clients are shown, with its key, and another that a
    server may show beside those that the system trusts. Raises ConfigurationError.
    """
    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    trusted = ssl.create_default_context()
    try:
        if shown and certificate:
            shown.load_cert_chain(certificate)
        if trust:
            trusted.load_verify_locations(trust)
    except OSError as error:
        raise ConfigurationError(f"{certificate or trust}: cannot be used: {error}") from error
    return Security(shown, trusted)
