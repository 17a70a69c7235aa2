"""Presets of models and what is computed from their prices."""

from __future__ import annotations

import pytest

from ctxkit.errors import ConfigError
from ctxkit.presets import Preset, find_preset, headroom, preset, presets, unknown
from ctxkit.tokens import counter_for


def test_gpt_5() -> None:
    found = preset("gpt-5")
    assert (found.window, found.max_input, found.max_output) == (400_000, 272_000, 128_000)
    assert (found.input, found.cache_read, found.output) == (1.25, 0.125, 10)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("openai/gpt-5-2025-08-07", "gpt-5"),
        ("azure:gpt-5-mini", "gpt-5-mini"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("vertex_ai/claude-opus-5@20260724", "claude-opus-5"),
        ("models/gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("ft:gpt-4.1:org::id", "gpt-4.1"),
    ],
)
def test_dates_and_vendors_are_tolerated(asked: str, name: str) -> None:
    assert preset(asked).model == name


@pytest.mark.parametrize("other", ["gpt-5.9", "claude-opus-5-7", "gpt-50", "gpt", "", "x" * 100_000])
def test_another_model_is_not_taken_for_a_known_one(other: str) -> None:
    assert find_preset(other) is None


def test_unknown_model_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match="gpt-5-mini"):
        preset("gpt5-mini")


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("gtp-5", "gpt-5"),
        ("gpt5", "gpt-5"),
        ("openai/gpt5-mini", "gpt-5-mini"),
        ("claude-sonet-4-5", "claude-sonnet-4-5"),
    ],
)
def test_a_slip_in_the_name_of_a_model_is_told(model: str, meant: str) -> None:
    assert unknown(model) == f"no preset for the model {model!r} (did you mean {meant}?)"


@pytest.mark.parametrize("model", ["nobody-1", "qwen3-32b", "llama-3.3-70b", "kimi-k2", "my-model"])
def test_what_is_like_no_name_is_no_slip(model: str) -> None:
    assert unknown(model) == f"no preset for the model {model!r}"


def test_thinking_is_bound_from_fable_5_1_on() -> None:
    bound = {name for name, each in presets().items() if each.binds_thinking}
    assert bound == {"claude-fable-5-1", "claude-mythos-5-1"} | {
        f"claude-{n}-5-5" for n in ("opus", "sonnet", "haiku")
    }


@pytest.mark.parametrize("each", presets().values(), ids=lambda each: each.model)
def test_figures_fit_together(each: Preset) -> None:
    assert 0 < each.max_output <= each.window
    assert 0 < each.max_input <= each.window <= each.max_input + each.max_output
    assert 0 < each.cache_read <= each.input <= each.cache_write
    assert each.input <= each.output
    assert each.source
    assert counter_for(each.model).name in (f"tiktoken/{each.tokenizer}", f"estimate/{each.tokenizer}")


def test_headroom_is_the_cheapest() -> None:
    best = headroom(1_000, 20_000, 0.3, 3.75)

    def cost(room: float) -> float:
        return 0.3 * room / 2 + (3.75 - 0.3) * 20_000 * 1_000 / room

    assert cost(best) < min(cost(best * 0.99), cost(best * 1.01))


def test_headroom_is_nothing_where_writing_costs_no_more_than_reading() -> None:
    assert headroom(1_000, 20_000, 1.0, 1.0) == 0


@pytest.mark.parametrize(
    "values", [(-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (float("nan"), 1, 1, 1)]
)
def test_headroom_refuses_what_makes_no_sense(values: tuple[float, float, float, float]) -> None:
    with pytest.raises(ConfigError):
        headroom(*values)
