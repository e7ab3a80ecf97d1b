"""LiteLLM: the recipe of the example, with the real library around a provider that records what it is sent."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import litellm
import pytest
from litellm.caching import DualCache
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.utils import ProxyLogging

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, check_distinct, run

# What LiteLLM does itself: deprecated calls, and sockets and tasks that it leaves to the end of the process.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Item .* is using the `ReadOnly`:UserWarning"),
]

RECIPE = runpy.run_path(str(ROOT / "examples" / "prompts_litellm.py"))
private_completion, WordveilGuardrail = RECIPE["private_completion"], RECIPE["WordveilGuardrail"]
CHAT = [{"role": "user", "content": TEXT}]
LONGER = [*CHAT, {"role": "assistant", "content": "ok"}, {"role": "user", "content": TEXT}]


class Recorder(litellm.CustomLLM):  # type: ignore[misc]
    def __init__(self) -> None:
        self.seen: list[list[dict[str, Any]]] = []

    def completion(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs["messages"])
        return litellm.completion(model="gpt-4o-mini", messages=[], mock_response="ok")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(
        litellm, "custom_provider_map", [{"provider": "recorder", "custom_handler": recorder}]
    )
    return recorder


@pytest.fixture
def guardrail(perturber: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> Any:
    options = {"guardrail_name": "wordveil", "event_hook": "pre_call", "default_on": True}
    guardrail = WordveilGuardrail(perturber, **options)
    monkeypatch.setattr(litellm, "callbacks", [guardrail])
    return guardrail


def test_the_wrapped_call_sends_private_texts_and_the_same_history(
    provider: Recorder, perturber: wv.Perturber
) -> None:
    guard = wv.PromptGuard(perturber)
    for chat in (CHAT, LONGER):
        answer = private_completion(guard, chat, model="recorder/model")
        assert answer.choices[0].message.content == "ok"
    assert SECRET not in repr(provider.seen)
    assert provider.seen[1][0] == provider.seen[0][0]
    check_distinct([provider.seen[1][0]["content"], provider.seen[1][2]["content"]])


def test_the_example_runs(watched: Path) -> None:
    script = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    assert run(script, watched, str(ROOT / "examples" / "prompts_litellm.py")) == ["Noted."]


def test_the_sdk_ignores_guardrails(provider: Recorder, guardrail: Any) -> None:
    """Why the call is wrapped. If this fails, LiteLLM has changed, and the docs must."""
    litellm.completion(model="recorder/model", messages=CHAT, guardrails=["wordveil"])
    assert SECRET in repr(provider.seen)


def through_proxy(data: dict[str, Any], call_type: str = "completion", key: str = "someone") -> Any:
    proxy = ProxyLogging(user_api_key_cache=DualCache())
    user = UserAPIKeyAuth(api_key=key)
    return asyncio.run(proxy.pre_call_hook(user_api_key_dict=user, data=data, call_type=call_type))


def test_the_proxy_sends_private_texts(guardrail: Any) -> None:
    data: dict[str, Any] = {"model": "m", "messages": CHAT, "metadata": {}}
    data["proxy_server_request"] = {"url": "/chat", "body": dict(data)}
    sent = through_proxy(data)
    assert SECRET not in repr(sent)
    check_distinct([sent["messages"][0]["content"], sent["messages"][0]["content"] + " x"])


def test_the_proxy_remembers_sessions_of_one_user(guardrail: Any) -> None:
    def send(chat: list[Any], session: str | None, key: str = "someone") -> list[Any]:
        data: dict[str, Any] = {"model": "m", "messages": chat, "metadata": {}}
        data["litellm_session_id"] = session
        return [message["content"] for message in through_proxy(data, key=key)["messages"]]

    first, later = send(CHAT, "one"), send(LONGER, "one")
    assert later[0] == first[0]
    others = [send(CHAT, "two"), send(CHAT, "one", "another"), send(CHAT, None), send(CHAT, None)]
    check_distinct([later[0], later[2], *(other[0] for other in others)])


@pytest.mark.parametrize("call_type", ["embedding", "text_completion", "aresponses"])
def test_other_calls_are_refused(call_type: str, guardrail: Any) -> None:
    with pytest.raises(wv.ParameterError, match="Only chats"):
        through_proxy({"model": "m", "input": TEXT, "prompt": TEXT, "metadata": {}}, call_type)


def test_a_message_that_can_not_be_perturbed_ends_the_call(guardrail: Any) -> None:
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": SECRET}}]}]
    with pytest.raises(wv.ParameterError, match="not text"):
        through_proxy({"model": "m", "messages": image, "metadata": {}})
