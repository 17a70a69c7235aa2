"""Servers for tests: real ones, on the loopback interface.

`failing` speaks Chat Completions and Responses as an OpenAI-compatible server does, and misbehaves as its script says:

    from tests.servers.failing import fails, hangs, says, serving

    with serving(fails(500), hangs(), says("A summary.")) as server:
        model = ModelSettings(name="any", base_url=server.base_url)
        ...
        assert len(server.requests) == 3

One step of the script is one request; the last step goes on for all that come after it. `server.requests` holds what
was asked, in order.

`valkey` and `postgres` start what their names say, from packages that carry them:

    with valkey(append_only=True) as server:
        ...                # server.url
        server.kill()      # as in a crash
        server.start()     # on the same data and address
"""
