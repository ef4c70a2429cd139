"""A development certificate authority and the one certificate it issues for the local chain.

The CA certificate works as NODE_EXTRA_CA_CERTS: unmodified clients then accept the chain in place of
the public test network. Key and certificates are written once and reused; the files are private to the user.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme

from provider.localnet.files import write_private

TUNNEL_HOSTS = ("soroban-testnet.stellar.org", "horizon-testnet.stellar.org", "localhost", "127.0.0.1")


@dataclass(frozen=True)
class Certificates:
    """Where the files are; `ca_file` is what clients have to trust."""

    ca_file: Path
    server_file: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.server_file)
        return context


def ensure(directory: Path) -> Certificates:
    """Read the certificates of a directory, or make new ones, which do not run out."""
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    files = Certificates(directory / "ca.pem", directory / "server.pem")
    if not (files.ca_file.exists() and files.server_file.exists()):
        # The key of the authority is dropped after its one signature: it can sign nothing else.
        authority = trustme.CA(organization_name="provider local network", path_length=0)
        server = authority.issue_cert(*TUNNEL_HOSTS, organization_name="provider local chain")
        write_private(files.server_file, server.private_key_and_cert_chain_pem.bytes())
        write_private(files.ca_file, authority.cert_pem.bytes())
    return files
