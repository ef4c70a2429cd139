"""The tools: one for each service, and two free ones for the jobs that they become.

No tool declares an output schema: clients hold the price of an unpaid call against it.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flask import request

from provider import strict_json
from provider.errors import InvalidBody, PaymentRejected, ProviderError
from provider.payments.headers import PAYMENT_SIGNATURE, read_payment
from provider.payments.schemas import dump_requirements
from provider.services import Service
from provider.services.problems import refuse_input
from provider.services.schema import CompiledSchema
from provider.web.calls import buy
from provider.web.held import hold, is_final
from provider.web.http.body import check_size
from provider.web.http.problems import own_error, unexpected_error
from provider.web.mcp.protocol import INVALID_PARAMS, ProtocolFault, Question
from provider.web.mcp.results import PAYMENT, job_result, price_result, problem_result, task_of
from provider.web.parts import Listing, parts
from provider.web.views import View, view_of

HOLD_SECONDS = 20
"""Clients give up a call after as little as a minute, and some proxies after half of that."""
_ID = {"type": "string", "description": "The id of the job."}
_FREE: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "job_status": (
        "Show a job that was bought here: its status, progress, and output once it succeeded. Free.",
        {"id": _ID, "wait": {"type": "integer", "minimum": 0, "maximum": HOLD_SECONDS}},
        {"readOnlyHint": True, "idempotentHint": True},
    ),
    "job_cancel": (
        "Cancel a job. A job that was paid first keeps its price; forfeit has to be true for it. Free.",
        {"id": _ID, "forfeit": {"type": "boolean"}},
        {"readOnlyHint": False, "idempotentHint": True},
    ),
}


def list_tools() -> list[dict[str, Any]]:
    """List the services as tools, then the free ones."""
    return [*map(_paid_tool, parts().listings.values()), *(_free_tool(name) for name in _FREE)]


def _paid_tool(listing: Listing) -> dict[str, Any]:
    service = listing.service
    price = f"{service.price} of the token {listing.offer.asset} a call, charged {service.charge.value}"
    terms = {"resource": {"url": listing.url}, "accepts": [dump_requirements(listing.offer)]}
    return {
        "name": service.name,
        "description": f"{service.description} Price: {price}; paid by x402 on {listing.offer.network}.",
        "inputSchema": {**service.input_schema, "type": "object"},
        "annotations": {"readOnlyHint": False, "destructiveHint": False},
        "_meta": {"x402": {"x402Version": 2, "paymentRequired": True, **terms}},
    }


def _free_tool(name: str) -> dict[str, Any]:
    description, _, hints = _FREE[name]
    return {
        "name": name,
        "description": description,
        "inputSchema": _free_schema(name),
        "annotations": dict(hints),
    }


def _free_schema(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(_FREE[name][1]),
        "required": ["id"],
        "additionalProperties": False,
    }


def call_tool(question: Question) -> dict[str, Any]:
    """Call a tool. What goes wrong with a call is its result, so that a model can read it."""
    name, arguments = question.text("name"), question.arguments()
    if name in _FREE:
        return _shown(partial(_free, name, arguments))
    sent = question.meta.get(PAYMENT)
    if sent is None:
        sent = request.headers.get(PAYMENT_SIGNATURE)
    if sent is not None:
        return _shown(partial(_paid, question, name, arguments, sent))
    if name not in parts().listings:
        raise ProtocolFault(INVALID_PARAMS, f"There is no tool {name[:64]!r}; tools/list has them all.")
    return _shown(partial(_unpaid, parts().listings[name]))


def _shown(call: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return call()
    except ProviderError as error:
        return problem_result(own_error(error))
    except Exception as error:
        return problem_result(unexpected_error(error))


def _unpaid(listing: Listing) -> dict[str, Any]:
    parts().desk.admits(listing.service)
    return price_result(listing.challenges["POST"])


def _paid(question: Question, name: str, arguments: dict[str, Any], sent: Any) -> dict[str, Any]:
    try:
        view = buy(name, read_payment(sent), partial(_read, arguments), lambda _: arguments)
    except PaymentRejected as error:
        return price_result(parts().listing(name).challenges["POST"].because(error.reason))
    if question.takes_tasks and not view.job.is_final:
        return {"resultType": "task", **task_of(view, parts().store)}
    return job_result(_held(view, HOLD_SECONDS))


def _read(arguments: dict[str, Any], service: Service) -> dict[str, Any]:
    """Hold arguments to the limits of a body. Raises BodyTooLarge or InvalidBody."""
    check_size(len(strict_json.compact(arguments)), service)
    if strict_json.depth(arguments) > strict_json.MAX_DEPTH:
        raise InvalidBody(f"The input is nested deeper than {strict_json.MAX_DEPTH} levels.")
    return arguments


def _free(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    refuse_input(CompiledSchema(_free_schema(name)).problems(arguments))
    if name == "job_status":
        return job_result(_held(parts().views.get(arguments["id"]), arguments.get("wait", 0)))
    forfeit = arguments.get("forfeit", False)
    job = parts().canceller.cancel(arguments["id"], forfeit=forfeit, by_payer=True)
    return job_result(view_of(job, parts().place(job)), is_error=False)


def _held(view: View, seconds: float) -> View:
    limit = min(HOLD_SECONDS, parts().settings.request_wait_seconds)
    return hold(view, is_final, min(seconds, limit)) or view
