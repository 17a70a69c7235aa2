"""Counters for open models: found by the model's name through the installed plugin, whole on any text."""

import pytest
from ctxkit_open_models import VocabularyCounter, ctxkit_token_counter
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import ContextManager

FAMILIES = ["deepseek_v3", "qwen3", "qwen2", "llama3", "glm4", "kimi_k2", "gemma3", "mistral_v3"]


@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("deepseek-chat", "deepseek_v3"),
        ("openrouter/qwen/qwen3-235b-a22b", "qwen3"),
        ("Qwen2.5-Coder-7B-Instruct", "qwen2"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3"),
        ("zai/GLM-4.5", "glm4"),
        ("moonshotai/kimi-k2-instruct", "kimi_k2"),
        ("google/gemma-3-27b-it", "gemma3"),
        ("mistral-large-2411", "mistral_v3"),
    ],
)
def test_a_model_is_found_by_its_name(model: str, vocabulary: str) -> None:
    assert ctxkit_token_counter(model) == VocabularyCounter(vocabulary)


@pytest.mark.parametrize(
    "model", ["gpt-5", "claude-opus-4-5", "gemini-2.5-pro", "gemma-3n-e4b", "qwen3.5", ""]
)
def test_other_models_are_left_to_ctxkit(model: str) -> None:
    assert ctxkit_token_counter(model) is None


def test_the_report_names_the_vocabulary() -> None:
    context = ContextManager("openai-chat", {"window": 1_000}, model="qwen3-32b")
    context.add({"role": "user", "content": "你好"})
    report = context.prepare_sync().report
    assert (report.counter, report.exact) == ("splintr/qwen3", False)


@pytest.mark.parametrize("vocabulary", FAMILIES)
@given(text=st.text() | st.sampled_from(["\ud83d", "<|im_end|>", "<|endoftext|>", "<s>", " " * 5_000]))
@settings(deadline=None)  # the first count loads the vocabulary
def test_any_text_is_counted(vocabulary: str, text: str) -> None:
    count = VocabularyCounter(vocabulary).count(text)
    assert 0 <= count <= 4 * len(text) + 4
    assert (count == 0) == (text == "")


def test_known_counts() -> None:
    text = "The order W2378156 ships on Friday. 退款49.90元"
    assert {name: VocabularyCounter(name).count(text) for name in FAMILIES} == {
        "deepseek_v3": 16,
        "qwen3": 22,
        "qwen2": 22,
        "llama3": 17,
        "glm4": 18,
        "kimi_k2": 16,
        "gemma3": 22,
        "mistral_v3": 23,
    }
