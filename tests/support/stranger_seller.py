"""An ordinary x402 seller that has never heard of this project: Flask under the PyPI package's middleware.

The package has no scheme for Stellar on the side of the seller, so the twenty lines that any seller would
write are here. Its facilitator is the local network's.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from flask import Flask, Response, jsonify, request
from werkzeug.serving import make_server
from x402.extensions.payment_identifier import declare_payment_identifier_extension
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.middleware.flask import PaymentMiddleware
from x402.schemas import AssetAmount
from x402.server import x402ResourceServerSync

from tests.support.localnet import PRICE, LocalNet

NETWORK = "stellar:testnet"


class StellarOnTheSellersSide:
    """Scheme `exact` on Stellar, as a resource server of the package wants it."""

    scheme = "exact"
    default_asset_transfer_method = "default"
    payment_flows: ClassVar[Mapping[str, Any]] = {
        "default": {"supported": ["authorization", "upfront"], "default": "authorization"}
    }

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        return price if isinstance(price, AssetAmount) else AssetAmount(**price)

    def enhance_payment_requirements(self, requirements: Any, kind: Any, extensions: list[str]) -> Any:
        requirements.extra = {**(requirements.extra or {}), "areFeesSponsored": True}
        return requirements


@dataclass
class StrangerSeller:
    """`calls` counts how often the handler ran; `status` and `body` are what it answers."""

    url: str = ""
    status: int = 200
    body: Any = field(default_factory=lambda: {"id": "weather-7", "status": "sunny"})
    calls: int = 0
    seen: list[Any] = field(default_factory=list)

    def handle(self) -> Response:
        self.calls += 1
        self.seen.append(request.get_json(silent=True))
        if isinstance(self.body, bytes):
            return Response(self.body, self.status, content_type="image/png")
        answer = jsonify(self.body)
        answer.status_code = self.status
        return answer


@contextmanager
def running_stranger(net: LocalNet) -> Iterator[StrangerSeller]:
    """Sell `/weather` for the price of a payment; `/upfront` is settled before its handler runs."""
    seller, app = StrangerSeller(), Flask("stranger")
    for path in ("/weather", "/upfront"):
        app.add_url_rule(path, path, seller.handle, methods=["GET", "POST"])
    server = x402ResourceServerSync(HTTPFacilitatorClientSync(FacilitatorConfig(url=net.facilitator.url)))
    server.register(NETWORK, StellarOnTheSellersSide())
    routes = {
        f"{method} {path}": _route(net, path)
        for method in ("GET", "POST")
        for path in ("/weather", "/upfront")
    }
    PaymentMiddleware(app, routes, server)
    with _serving(app) as url:
        seller.url = url
        yield seller


def _route(net: LocalNet, path: str) -> dict[str, Any]:
    price = AssetAmount(amount=str(PRICE), asset=net.state.config.token.contract)
    extra = {"paymentFlow": "upfront"} if path == "/upfront" else {}
    accepts = {
        "scheme": "exact",
        "network": NETWORK,
        "payTo": net.seller.public_key,
        "price": price,
        "maxTimeoutSeconds": net.requirements().max_timeout_seconds,
        "extra": extra,
    }
    extensions = {"payment-identifier": declare_payment_identifier_extension()}
    return {
        "accepts": accepts,
        "extensions": extensions,
        "description": "Weather.",
        "mimeType": "application/json",
    }


@contextmanager
def _serving(app: Flask) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
