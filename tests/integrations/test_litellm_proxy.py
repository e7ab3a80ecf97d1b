"""LiteLLM's proxy: the routes that the recipe answers, and what other callbacks see, with a provider on this machine."""

import json
import re
import runpy
import textwrap
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from traceback import walk_tb
from types import ModuleType
from typing import Any

import litellm
import pytest
from fastapi.testclient import TestClient  # type: ignore[import-not-found]  # comes with LiteLLM's proxy
from litellm.integrations.custom_logger import CustomLogger
from starlette.websockets import WebSocketDisconnect  # type: ignore[import-not-found]

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, run
from .litellm_filters import LITELLM_FILTERS

pytestmark = [*LITELLM_FILTERS, pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")]

RECIPE = runpy.run_path(str(ROOT / "examples" / "prompts_litellm.py"))
KEY = "sk-4f1c9a7be03d52868d1f"
MESSAGES = [{"role": "user", "content": TEXT}]
CHAT = {"model": "gpt", "messages": MESSAGES}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": TEXT}]}]}
# Those that send texts to the provider although the guardrail is on, unless the recipe refuses them.
UNGUARDED: dict[str, Any] = {
    "/v1/messages/count_tokens": CHAT | {"model": "claude"},
    "/utils/token_counter?call_endpoint=true": CHAT | {"model": "claude"},
    "/v1/responses/input_tokens": {"model": "gpt", "input": TEXT},
    "/v1beta/models/claude:countTokens": CONTENTS,
    "/v1/assistants": {"model": "gpt", "instructions": TEXT},
    "/v1/threads/x/messages": MESSAGES[0],
}
OTHERS: dict[str, Any] = {
    "/v1/threads": {"messages": MESSAGES},
    "/v1/messages": CHAT | {"max_tokens": 9},
    "/v1/responses": {"model": "gpt", "input": TEXT},
    "/v1/completions": {"model": "gpt", "prompt": TEXT},
    "/v1/embeddings": {"model": "gpt", "input": TEXT},
    "/v1/chat/completions/": CHAT,
    "/V1/chat/completions": CHAT,
    "/engines/gpt/chat/completions": CHAT,
    "/openai/v1/chat/completions": CHAT,
    "/cursor/chat/completions": CHAT,
    "/health/test_connection": {"litellm_params": CHAT},
    "/guardrails/apply_guardrail": {"guardrail_name": "wordveil", "text": TEXT},
    "/no/such/route": CHAT,
}
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
    "input_tokens": 3,
}


class Provider(ThreadingHTTPServer):
    """A provider that runs elsewhere, as far as LiteLLM can tell."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[bytes] = []


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.server.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        answer = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Any:
    """The module of the proxy, whose import warns of what it uses."""
    from litellm.proxy import proxy_server

    return proxy_server


@pytest.fixture
def provider(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    litellm.in_memory_llm_clients_cache.flush_cache()  # of connections of another test
    with Provider() as provider:
        address = f"http://127.0.0.1:{provider.server_port}"
        for name in ("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"):
            monkeypatch.setenv(name, address)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        names = {"gpt": "openai/gpt-4o", "claude": "anthropic/claude-3-5-sonnet-20241022"}
        options = {
            "gpt": {"api_key": "k", "api_base": f"{address}/v1"},
            "claude": {"api_key": "k", "api_base": address},
        }
        router = litellm.Router(
            model_list=[
                {"model_name": name, "litellm_params": {"model": model, **options[name]}}
                for name, model in names.items()
            ],
            assistants_config={"custom_llm_provider": "openai", "litellm_params": options["gpt"]},
            num_retries=0,
        )
        monkeypatch.setattr(server, "llm_router", router)
        thread = threading.Thread(target=provider.serve_forever)
        thread.start()
        yield provider
        provider.shutdown()
        thread.join()


@pytest.fixture(params=["before the proxy starts", "while it starts"])
def proxy(
    request: pytest.FixtureRequest, server: Any, perturber: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> TestClient:
    app = server.app
    stack = app.build_middleware_stack() if request.param == "while it starts" else None
    monkeypatch.setattr(app, "middleware_stack", stack)
    guardrail = RECIPE["WordveilGuardrail"](
        perturber, guardrail_name="wordveil", event_hook="pre_call", default_on=True
    )
    monkeypatch.setattr(litellm, "callbacks", [guardrail])
    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("route", [*UNGUARDED, *OTHERS])
def test_other_routes_are_refused(route: str, proxy: TestClient, provider: Provider) -> None:
    answer = proxy.post(route, json=(UNGUARDED | OTHERS)[route])
    assert answer.status_code == 403
    assert "Only chats" in answer.json()["error"]["message"]
    assert not provider.bodies


@pytest.mark.filterwarnings("ignore")  # of the description of the routes
def test_every_other_route_of_the_proxy_is_refused(proxy: TestClient, provider: Provider) -> None:
    paths = {re.sub(r"\{.*?\}", "x", path) for path in proxy.app.openapi()["paths"]} - RECIPE["ROUTES"]
    assert len(paths) > 500
    for path in paths:
        assert proxy.post(path, json=CHAT).status_code == 403, path
    assert not provider.bodies


def test_web_sockets_are_refused() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        calls.append(1)
        await send({"type": "websocket.close"})

    calls: list[int] = []
    for path in ("/v1/realtime?model=gpt", "/v1/chat/completions"):
        with pytest.raises(WebSocketDisconnect):
            TestClient(RECIPE["OnlyChats"](app)).websocket_connect(path).__enter__()
    assert not calls


@pytest.mark.parametrize("route", ["/chat/completions", "/v1/chat/completions"])
def test_chats_are_answered(route: str, proxy: TestClient, provider: Provider) -> None:
    answer = proxy.post(route, json=CHAT)
    assert answer.json()["choices"][0]["message"]["content"] == "ok"
    assert len(provider.bodies) == 1
    assert SECRET.encode() not in provider.bodies[0]


def test_the_state_of_the_proxy_can_be_asked_for(proxy: TestClient) -> None:
    for name in ("liveness", "liveliness", "readiness"):
        assert proxy.get(f"/health/{name}").status_code == 200


@pytest.mark.parametrize("messages", [None, TEXT, {"role": "user", "content": TEXT}])
def test_a_call_without_messages_is_refused(messages: Any, proxy: TestClient, provider: Provider) -> None:
    body = {"model": "gpt"} if messages is None else {"model": "gpt", "messages": messages}
    answer = proxy.post("/v1/chat/completions", json=body)
    assert answer.status_code == 400
    assert "must have a list of messages" in answer.text
    assert not provider.bodies


class Callback(CustomLogger):  # type: ignore[misc]
    """Any other callback, which looks for the secret in what it is passed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, list[str]] = {}

    async def async_post_call_failure_hook(self, request_data: Any, *args: Any, **kwargs: Any) -> None:
        self.seen["failure"] = secrets_in([request_data, args, kwargs])

    async def async_post_call_success_hook(self, data: Any, *args: Any, **kwargs: Any) -> None:
        self.seen["success"] = secrets_in([data, args, kwargs])


def secrets_in(value: Any, place: str = "", visited: set[int] | None = None) -> list[str]:
    """Return the places below a value, and in the frames of an error, that have the secret."""
    visited = set() if visited is None else visited
    if isinstance(value, str | bytes):
        return [place] if SECRET in str(value) else []
    if id(value) in visited or isinstance(value, type | ModuleType | TestClient):
        return []
    visited.add(id(value))
    if isinstance(value, BaseException):  # LiteLLM's own frames have the request
        frames = [
            frame for frame, _ in walk_tb(value.__traceback__) if "litellm" not in frame.f_globals["__name__"]
        ]
        value = [*(frame.f_locals for frame in frames), value.args, value.__cause__, value.__context__]
    if isinstance(value, dict):
        parts = [*value.items()]
    elif isinstance(value, list | tuple | set):
        parts = [*enumerate(value)]
    else:
        parts = [*getattr(value, "__dict__", {}).items()]
    return [found for name, part in parts for found in secrets_in(part, f"{place}.{name}", visited)]


CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "a private call": ({}, "success"),
    "a field": ({"stop": [SECRET]}, "failure"),
    "an option": ({"prediction": {"type": "content", "content": SECRET}}, "failure"),
    "a message": ({"messages": [*MESSAGES, {"role": "user", "content": TEXT, "name": "x"}]}, "failure"),
    "an image": ({"messages": [{"role": "user", "content": [{"image_url": {"url": SECRET}}]}]}, "failure"),
}


@pytest.mark.parametrize("name", CALLS)
def test_other_callbacks_are_passed_no_texts(
    name: str, proxy: TestClient, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def private(owner: str, data: dict[str, Any], call_type: str) -> Any:
        logging.append(data["litellm_logging_obj"])
        return original(owner, data, call_type)

    logging: list[Any] = []
    callback, guardrail = Callback(), litellm.callbacks[0]
    original = guardrail._private
    monkeypatch.setattr(guardrail, "_private", private)
    monkeypatch.setattr(litellm, "callbacks", [guardrail, callback])
    fields, outcome = CALLS[name]
    answer = proxy.post("/v1/chat/completions", json={"model": "gpt", "messages": MESSAGES} | fields)
    assert answer.status_code == (200 if outcome == "success" else 400)
    assert callback.seen == {outcome: []}
    assert [secrets_in(vars(item)) for item in logging] == [[]]


@pytest.mark.parametrize("route", UNGUARDED)
def test_without_the_refusal_texts_reach_the_provider(
    route: str, proxy: TestClient, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why routes are refused. If this fails, LiteLLM has changed."""
    monkeypatch.setattr(proxy.app, "middleware_stack", None)
    TestClient(proxy.app, raise_server_exceptions=False).post(route, json=UNGUARDED[route])
    assert SECRET.encode() in b"".join(provider.bodies)


def test_the_documented_configuration_refuses_routes(watched: Path) -> None:
    """The proxy itself starts with the configuration of the page, beside the recipe."""
    page = (ROOT / "docs" / "integrations" / "prompts.md").read_text(encoding="utf-8")
    (guardrails,) = map(textwrap.dedent, re.findall(r"```yaml\n( +guardrails:\n.*?) +```", page, re.DOTALL))
    model = "{model_name: gpt, litellm_params: {model: openai/gpt-4o, api_key: k, mock_response: ok}}"
    (watched / "config.yaml").write_text(f"model_list: [{model}]\n{guardrails}")
    (watched / "prompts_litellm.py").write_bytes((ROOT / "examples" / "prompts_litellm.py").read_bytes())
    lines = run(
        f"""
        import os
        os.environ |= {{"CONFIG_FILE_PATH": "config.yaml", "LITELLM_MASTER_KEY": {KEY!r}}}
        from fastapi.testclient import TestClient
        from litellm.proxy.proxy_server import app
        key = {{"Authorization": "Bearer " + {KEY!r}}}
        body = {{"model": "gpt", "messages": [{{"role": "user", "content": TEXT}}]}}
        with TestClient(app) as proxy:  # as a server starts it
            for route in ("/v1/chat/completions", *{[*UNGUARDED]}):
                print(proxy.post(route, json=body, headers=key).status_code)
        """,
        watched,
    )
    assert [line for line in lines if line.isdigit()] == ["200"] + ["403"] * len(UNGUARDED)
