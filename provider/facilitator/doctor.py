"""What the chain has against a facilitator's configuration."""

from provider.chain.node import Node
from provider.errors import ConfigurationError, RpcError
from provider.facilitator.config import FacilitatorConfig


def check_accounts(config: FacilitatorConfig) -> None:
    """Look for the network and the accounts.

    Raises:
        ConfigurationError: with a line for each problem that says what to do.
        RpcError: if the RPC does not answer.
    """
    node = Node(config.rpc_url, timeout_seconds=config.rpc_timeout_seconds)
    addresses = [keypair.public_key for keypair in config.keypairs()]
    problems = []
    if node.passphrase() != config.passphrase:
        problems.append(f"the RPC {config.rpc_url} is not one of {config.network}; give another")
    known = _known(node, addresses)
    problems += [
        f"account {one} does not exist; fund it with some XLM" for one in addresses if one not in known
    ]
    if problems:
        raise ConfigurationError(problems)


def _known(node: Node, addresses: list[str]) -> dict[str, int]:
    try:
        return node.sequences(addresses)
    except KeyError as error:
        raise RpcError(f"getLedgerEntries: no {error}") from None
