"""Services for a web process and workers elsewhere: `PROVIDER_SERVICES=tests.integration.web.far`."""

from provider.services import Registry
from tests.integration.web.conftest import sell

services = Registry()
sell(services, "far", "on-success", remote=True)
sell(services, "far-paid", "upfront", remote=True)
sell(services, "near", "on-success")
