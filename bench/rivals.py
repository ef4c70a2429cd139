"""What we are measured against: a bare Flask route, and the same service behind the x402 Flask middleware.

The middleware has no Stellar mechanism, so `Stellar` is the least one that lets it quote our price; paying,
verifying and settling are the middleware's own.
"""

import os
from typing import Any

from flask import Flask, Response, request
from x402.http import FacilitatorConfig, HTTPFacilitatorClientSync
from x402.http.middleware.flask import PaymentMiddleware
from x402.schemas import AssetAmount
from x402.server import x402ResourceServerSync

from bench.facilitator import NETWORK


class Stellar:
    """The seller's side of scheme `exact` on Stellar, prices given in atomic units."""

    scheme = "exact"
    default_asset_transfer_method = "default"
    payment_flows: dict[str, Any] = {  # noqa: RUF012 - the middleware's protocol asks for a plain attribute
        "default": {"supported": ("authorization",), "default": "authorization"}
    }

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        return price if isinstance(price, AssetAmount) else AssetAmount(**price)

    def get_asset_decimals(self, asset: str, network: str) -> int:
        return 7

    def enhance_payment_requirements(self, requirements: Any, kind: Any, extensions: Any) -> Any:
        return requirements


def _echo() -> Response:
    from flask import jsonify

    return jsonify({"text": request.get_json()["text"]})


def bare() -> Flask:
    """Serve the echo without any payment."""
    app = Flask("bare")
    app.add_url_rule("/run/echo", "echo", _echo, methods=["POST"])
    return app


def middleware() -> Flask:
    """Serve the echo behind the x402 middleware: verify, run, settle, all inside the request."""
    app = bare()
    client = HTTPFacilitatorClientSync(FacilitatorConfig(url=os.environ["FACILITATOR_URL"]))
    server = x402ResourceServerSync(client)
    server.register(NETWORK, Stellar())
    price = {"amount": os.environ["BENCH_AMOUNT"], "asset": os.environ["ASSET"]}
    option = {
        "scheme": "exact",
        "network": NETWORK,
        "payTo": os.environ["PAY_TO"],
        "price": price,
        "maxTimeoutSeconds": 3600,
        "extra": {"areFeesSponsored": True},
    }
    PaymentMiddleware(app, {"POST /run/echo": {"accepts": option}}, server)
    return app
