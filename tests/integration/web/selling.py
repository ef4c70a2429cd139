"""Services for a web process of its own: PROVIDER_SERVICES=tests.integration.web.selling."""

from provider.services import Registry
from tests.integration.web.conftest import sell

services = Registry()
sell(services, "echo", "on-success")
sell(services, "prepaid", "upfront")
