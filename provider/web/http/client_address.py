"""The address that a request came from, as far as it is known to be the client's own."""

from ipaddress import IPv6Address, IPv6Network, ip_address

from flask import Request

CLIENT_NETWORK_BITS = 64
"""A client of IPv6 has a network of its own, and changes its addresses in it."""


def client_address(request: Request, how: str) -> str:
    """Return the client's address, or an empty text where it is unknown.

    `how` is the setting CLIENT_ADDRESS. `public` takes the address of the connection unless it is of a
    private network: that is a proxy's, and the same for all clients. `connection` takes it in any case.
    `forwarded:N` takes what the outermost of N proxies wrote into `X-Forwarded-For`; the client sent
    what stands before it.
    """
    if how.startswith("forwarded"):
        hops = int(how.partition(":")[2] or 1)
        entries = ",".join(request.headers.getlist("X-Forwarded-For")).split(",")
        return _normal(entries[-hops] if len(entries) >= hops else "", private=True)
    return _normal(request.remote_addr or "", private=how == "connection")


def _normal(text: str, *, private: bool) -> str:
    try:
        address = ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    if not private and not address.is_global:
        return ""
    if isinstance(address, IPv6Address):
        return str(IPv6Network((address, CLIENT_NETWORK_BITS), strict=False))
    return str(address)
