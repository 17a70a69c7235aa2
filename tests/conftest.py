"""Hypothesis profiles: `quick` for every run, `long` for `make test-long`."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True, print_blob=False)
settings.register_profile(
    "long", max_examples=2_000, deadline=None, suppress_health_check=list(HealthCheck), print_blob=False
)
settings.load_profile(os.environ.get("CTXKIT_HYPOTHESIS", "quick"))
