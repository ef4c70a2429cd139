"""Job ids: the name of the service, a dot, and 128 random bits in hex (standard H9)."""

import secrets

HEX_DIGITS = frozenset("0123456789abcdef")


def new_job_id(service: str) -> str:
    """Draw the id of a new job."""
    return f"{service}.{secrets.token_hex(16)}"


def split(job_id: str) -> tuple[str, str]:
    """Split a job id into service name and random part. Raises ValueError for a malformed id."""
    service, _, token = job_id.rpartition(".")
    if not service or len(token) != 32 or not set(token) <= HEX_DIGITS:
        raise ValueError(f"not a job id: {job_id[:80]!r}")
    return service, token


def service_of(job_id: str) -> str:
    """Give the name of the service that a job id belongs to. Raises ValueError for a malformed id."""
    return split(job_id)[0]


def belongs(job_id: str, service: str) -> bool:
    """Return whether a text is the id of a job of a service."""
    try:
        return service_of(job_id) == service
    except ValueError:
        return False


def place_for(job_id: str, claim: str) -> str:
    """Name a reserved place: by the job to come, and the claim that it will be made of (J7)."""
    return f"{job_id} {claim}"


def read_place(place: str) -> tuple[str, str]:
    """Give the job id and the claim of a reserved place."""
    job_id, _, claim = place.partition(" ")
    return job_id, claim
