"""TLS at both sides of a relay; TLS itself is not judged."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from conformance.configuration import ConfigurationError

SECURED = "https://"
"""Beginning of the address of a server that uses TLS."""


@dataclass(frozen=True)
class Security:
    """TLS contexts: ``shown`` for clients, None without TLS; ``trusted`` for servers."""

    shown: ssl.SSLContext | None
    trusted: ssl.SSLContext

    def of(self, target: str) -> ssl.SSLContext | None:
        """Return the TLS context for a server, or None if its address has no TLS."""
        return self.trusted if target.startswith(SECURED) else None


def security(certificate: Path | None, trust: Path | None) -> Security:
    """Read PEM files: the certificate and key for clients, and a further trusted certificate.

    The system's trusted certificates apply, too. Raises ConfigurationError.
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
