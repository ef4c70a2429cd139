"""Headers, bodies, answers and errors, as HTTP and x402 spell them."""
