"""What is for sale: services, how they are declared, and what their handlers are given (standard §1)."""

from provider.errors import CheckpointRefused, DeterministicError, InvalidProgress, TransientError
from provider.services.charge import ChargePolicy
from provider.services.context import Cancelled, Context, Handler, HandlerLogger
from provider.services.conversion import JsonSchema
from provider.services.declaration import Service
from provider.services.problems import FieldProblem
from provider.services.registry import Registry, load_registry

__all__ = [
    "Cancelled",
    "ChargePolicy",
    "CheckpointRefused",
    "Context",
    "DeterministicError",
    "FieldProblem",
    "Handler",
    "HandlerLogger",
    "InvalidProgress",
    "JsonSchema",
    "Registry",
    "Service",
    "TransientError",
    "load_registry",
]
