"""Services for a web process of its own: PROVIDER_SERVICES=tests.integration.web.selling."""

from provider.services import Registry
from tests.integration.web.conftest import sell

services = Registry()
sell(services, "echo", "on-success", max_input_bytes=1_048_576)
sell(services, "prepaid", "upfront")
