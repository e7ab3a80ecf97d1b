"""LiteLLM: the recipe of the example, with the real library around a provider that records what it is sent."""

import asyncio
import runpy
from pathlib import Path
from typing import Any

import litellm
import pytest
from fastapi.testclient import TestClient  # type: ignore[import-not-found]  # comes with LiteLLM's proxy
from litellm.caching import DualCache
from litellm.proxy._types import UserAPIKeyAuth
from litellm.proxy.utils import ProxyLogging

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, check_answers, check_distinct, run, run_example
from .litellm_filters import LITELLM_FILTERS

pytestmark = LITELLM_FILTERS

RECIPE = runpy.run_path(str(ROOT / "examples" / "prompts_litellm.py"))
private_completion, aprivate_completion = RECIPE["private_completion"], RECIPE["aprivate_completion"]
WordveilGuardrail = RECIPE["WordveilGuardrail"]
CHAT = [{"role": "user", "content": TEXT}]
LONGER = [*CHAT, {"role": "assistant", "content": "ok"}, {"role": "user", "content": TEXT}]

OPTIONS: dict[str, Any] = {"guardrail_name": "wordveil", "event_hook": "pre_call", "default_on": True}


class Recorder(litellm.CustomLLM):  # type: ignore[misc]
    def __init__(self) -> None:
        self.seen: list[list[dict[str, Any]]] = []
        self.options: list[dict[str, Any]] = []

    def completion(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs["messages"])
        self.options.append(kwargs["optional_params"])
        return litellm.completion(model="gpt-4o-mini", messages=[], mock_response="ok")

    def streaming(self, *args: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs["messages"])
        yield {
            "text": "ok",
            "is_finished": True,
            "finish_reason": "stop",
            "index": 0,
            "tool_use": None,
            "usage": None,
        }

    async def astreaming(self, *args: Any, **kwargs: Any) -> Any:
        for part in self.streaming(*args, **kwargs):
            yield part

    async def acompletion(self, *args: Any, **kwargs: Any) -> Any:
        return self.completion(*args, **kwargs)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(
        litellm, "custom_provider_map", [{"provider": "recorder", "custom_handler": recorder}]
    )
    litellm.utils.custom_llm_setup()
    return recorder


@pytest.fixture
def guardrail(perturber: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> Any:
    from litellm.proxy import proxy_server

    monkeypatch.setattr(proxy_server.app, "middleware_stack", None)  # it is wrapped
    guardrail = WordveilGuardrail(perturber, **OPTIONS)
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
    assert run_example("prompts_litellm", watched) == ["Noted."]


def test_what_is_written(watched: Path) -> None:
    lines = run(
        f"""
        import asyncio, os, runpy, litellm
        recipe = runpy.run_path({str(ROOT / "examples" / "prompts_litellm.py")!r})
        chat = [{{"role": "user", "content": TEXT}}]
        small_perturber()(TEXT)  # a stream of this process exists
        fork = os.fork()
        guard, options = wv.PromptGuard(small_perturber()), dict(model="gpt-4o-mini", mock_response="ok")
        recipe["private_completion"](guard, chat, **options)
        asyncio.run(recipe["aprivate_completion"](guard, chat, **options))
        print(guard(chat)[0]["content"], flush=True)
        fork and os.wait()
        """,
        watched,
    )
    check_answers(lines, watched, count=2, least_keys=2)


def test_the_asynchronous_wrapper_sends_private_texts(provider: Recorder, perturber: wv.Perturber) -> None:
    guard = wv.PromptGuard(perturber)
    answer = asyncio.run(aprivate_completion(guard, CHAT, model="recorder/model"))
    assert answer.choices[0].message.content == "ok"
    assert len(provider.seen) == 1
    assert SECRET not in repr(provider.seen)


def test_streams_of_private_texts(provider: Recorder, perturber: wv.Perturber) -> None:
    async def collected() -> list[Any]:
        answer = await aprivate_completion(guard, CHAT, model="recorder/model", stream=True)
        return [part async for part in answer]

    guard = wv.PromptGuard(perturber)
    assert [*private_completion(guard, CHAT, model="recorder/model", stream=True)]
    assert asyncio.run(collected())
    assert len(provider.seen) == 2
    assert SECRET not in repr(provider.seen)


def test_the_sdk_calls_guardrails_only_if_asynchronous_and_named(provider: Recorder, guardrail: Any) -> None:
    """Why the call is wrapped. If this fails, LiteLLM has changed, and the docs must."""
    options: dict[str, Any] = {"model": "recorder/model", "messages": CHAT}
    litellm.completion(**options)
    litellm.completion(**options, guardrails=["wordveil"])
    asyncio.run(litellm.acompletion(**options))
    assert [SECRET in repr(messages) for messages in provider.seen] == [True] * 3
    asyncio.run(litellm.acompletion(**options, guardrails=["wordveil"]))
    assert len(provider.seen) == 4
    assert SECRET not in repr(provider.seen[3])


WRONG: list[dict[str, Any]] = [
    {"default_on": False},
    {"event_hook": "during_call"},
    {"event_hook": None},
    {"event_hook": ["pre_call", "post_call"]},
    {"run_in_parallel": True},
    {"scan_raw_request": True},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_configurations_that_let_texts_pass_are_refused(
    wrong: dict[str, Any], perturber: wv.Perturber
) -> None:
    with pytest.raises(wv.ParameterError, match="The guardrail must"):
        WordveilGuardrail(perturber, **OPTIONS | wrong)
    with pytest.raises(wv.ParameterError, match="The guardrail must"):
        WordveilGuardrail(perturber, guardrail_name="wordveil")


@pytest.fixture
def proxy(provider: Recorder, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """The proxy itself, with the provider above behind it."""
    from litellm.proxy import proxy_server

    models = [{"model_name": "m", "litellm_params": {"model": "recorder/m"}}]
    monkeypatch.setattr(proxy_server, "llm_router", litellm.Router(model_list=models))
    return TestClient(proxy_server.app)


def test_a_request_through_the_proxy_itself(proxy: TestClient, provider: Recorder, guardrail: Any) -> None:
    body = {"model": "m", "messages": CHAT, "temperature": 0.5, "litellm_session_id": "one"}
    body |= {"metadata": {"note": SECRET}, "litellm_trace_id": SECRET}  # for the proxy, and not sent
    for chat in (CHAT, LONGER):
        answer = proxy.post("/v1/chat/completions", json=body | {"messages": chat})
        assert answer.status_code == 200, answer.text
    assert SECRET not in repr(provider.seen)
    assert provider.seen[1][0] == provider.seen[0][0]
    assert provider.options[0]["temperature"] == 0.5
    assert SECRET not in repr(provider.options)


def test_a_stream_through_the_proxy_itself(proxy: TestClient, provider: Recorder, guardrail: Any) -> None:
    answer = proxy.post("/v1/chat/completions", json={"model": "m", "messages": CHAT, "stream": True})
    assert answer.status_code == 200, answer.text
    assert "data: [DONE]" in answer.text
    assert len(provider.seen) == 1
    assert SECRET not in repr(provider.seen)


FIELDS: dict[str, Any] = {
    "user": SECRET,
    "prediction": {"type": "content", "content": SECRET},
    "stop": [SECRET],
    "temperature": SECRET,
    "extra_body": {"note": SECRET},
    "stream_options": {"include_usage": True, "note": SECRET},
    "litellm_note": SECRET,
}


@pytest.mark.parametrize("name", FIELDS)
def test_other_fields_are_refused(name: str, proxy: TestClient, provider: Recorder, guardrail: Any) -> None:
    body = {"model": "m", "messages": CHAT, name: FIELDS[name]}
    answer = proxy.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert "would be sent as it is" in answer.text
    assert SECRET not in answer.text
    assert not provider.seen


def test_without_the_guardrail_the_proxy_sends_all(
    proxy: TestClient, provider: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(litellm, "callbacks", [])
    body = {"model": "m", "messages": CHAT, "prediction": FIELDS["prediction"]}
    assert proxy.post("/v1/chat/completions", json=body).status_code == 200
    assert SECRET in repr(provider.seen)
    assert SECRET in repr(provider.options)


def through_proxy(data: dict[str, Any], call_type: str = "acompletion", key: str = "someone") -> Any:
    proxy = ProxyLogging(user_api_key_cache=DualCache())
    user = UserAPIKeyAuth(api_key=key)
    return asyncio.run(proxy.pre_call_hook(user_api_key_dict=user, data=data, call_type=call_type))


def test_the_proxy_sends_private_texts(guardrail: Any) -> None:
    data: dict[str, Any] = {"model": "m", "messages": CHAT, "metadata": {}}
    data["proxy_server_request"] = {"url": "/chat", "body": {"model": "m", "messages": CHAT}}
    sent = through_proxy(data)
    assert SECRET not in repr(sent)
    check_distinct(
        [sent["messages"][0]["content"], through_proxy({"messages": CHAT})["messages"][0]["content"]]
    )


TOOL = {"role": "tool", "tool_call_id": "1"}


@pytest.mark.parametrize("content", [TEXT, [{"type": "text", "text": TEXT}]])
def test_the_proxy_perturbs_results_of_tools(content: Any, guardrail: Any) -> None:
    """A warning, in its log and only once, would reach nobody."""
    sent = through_proxy({"messages": [*CHAT, TOOL | {"content": content}], "metadata": {}})
    assert SECRET not in repr(sent["messages"])
    assert sent["messages"][1]["tool_call_id"] == "1"


def test_no_key_or_stream_is_left_out(guardrail: Any) -> None:
    metadata = {"user_api_key_metadata": {"disable_global_guardrails": True}}
    guardrail.apply_stream_scope("streaming")
    assert SECRET not in repr(
        through_proxy({"model": "m", "messages": CHAT, "metadata": metadata})["messages"]
    )


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
