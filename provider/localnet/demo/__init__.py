"""The demo: a stranger buys from a provider, and the balances are checked."""
