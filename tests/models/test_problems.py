"""What the exceptions of other SDKs and HTTP clients come to."""

from __future__ import annotations

import pytest

from ctxkit.models.problems import Problem, problem_of


def test_the_anthropic_client() -> None:
    anthropic = pytest.importorskip("anthropic")
    httpx = pytest.importorskip("httpx")
    request = httpx.Request("POST", "https://example.com")
    full = httpx.Response(529, request=request, headers={"retry-after": "3"})
    assert problem_of(anthropic.InternalServerError("xz", response=full, body=None)) == Problem(
        "HTTP 529 (InternalServerError)", transient=True, lasting=False, wait_s=3.0
    )
    too_long = httpx.Response(400, request=request)
    assert problem_of(anthropic.BadRequestError("xz", response=too_long, body=None)) == Problem(
        "HTTP 400 (BadRequestError)"
    )
    assert problem_of(anthropic.APITimeoutError(request)) == Problem("APITimeoutError", True, False)


def test_the_google_client() -> None:
    errors = pytest.importorskip("google.genai.errors")
    assert problem_of(errors.ServerError(503, {"error": {"message": "xz"}})) == Problem(
        "HTTP 503 (ServerError)", transient=True, lasting=False
    )
    assert problem_of(errors.ClientError(404, {"error": {"message": "xz"}})) == Problem(
        "HTTP 404 (ClientError)", lasting=False
    )


def test_a_plain_http_client() -> None:
    httpx = pytest.importorskip("httpx")
    request = httpx.Request("POST", "https://example.com")
    busy = httpx.HTTPStatusError("xz", request=request, response=httpx.Response(503, request=request))
    assert problem_of(busy) == Problem("HTTP 503 (HTTPStatusError)", transient=True, lasting=False)
    assert problem_of(httpx.ReadError("xz")) == Problem("ReadError", transient=True, lasting=False)
    assert problem_of(httpx.InvalidURL("xz")) == Problem("InvalidURL")


@pytest.mark.parametrize("code", ["sk-secret-4471", "What the user said", "a" * 300, "naïve", 7, None])
def test_a_code_is_shown_only_when_it_looks_like_one(code: object) -> None:
    error = ValueError("xz")
    error.code = code  # type: ignore[attr-defined]
    assert problem_of(error).why == ("ValueError, " + "a" * 300 if code == "a" * 300 else "ValueError")
