"""The stores that come with ctxkit, one module each."""
