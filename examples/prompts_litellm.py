"""Private prompts with LiteLLM, from Python and in its proxy: python examples/prompts_litellm.py."""

import json
import os
from collections import OrderedDict
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else the import asks the network for prices

import litellm
from litellm.integrations.custom_guardrail import CustomGuardrail

import wordveil as wv

ROLES = ("user", "tool", "function")  # that the proxy perturbs: a client does not see a warning in its log
CONVERSATIONS = 10_000  # that the proxy remembers; the messages of an older one are drawn anew
# What a client may send besides messages. No other field passes: `user` and `prediction`, say, are texts.
NUMBERS = {"temperature", "top_p", "n", "max_tokens", "max_completion_tokens", "seed", "stream", "logprobs"}
NUMBERS |= {"presence_penalty", "frequency_penalty", "top_logprobs", "parallel_tool_calls"}
NUMBERS |= {"_litellm_strip_stream_usage"}  # which LiteLLM adds to streams
SENT_AS_THEY_ARE = {"model", "tools", "tool_choice", "response_format"}  # like messages of the system
NOT_SENT = {"guardrails", "metadata", "litellm_metadata", "proxy_server_request", "secret_fields"}
NOT_SENT |= {"litellm_session_id", "litellm_trace_id", "litellm_call_id", "litellm_logging_obj"}
# All that the proxy answers: LiteLLM calls no guardrail before it counts tokens, or keeps a thread.
ROUTES = {"/chat/completions", "/v1/chat/completions"}
ROUTES |= {"/health/liveness", "/health/liveliness", "/health/readiness"}
NO_ROUTE = {"error": {"message": "Only chats can be made private here.", "code": "403"}}


def private_completion(guard: wv.PromptGuard, messages: list[dict[str, Any]], **options: Any) -> Any:
    """Call a model with private messages; the options are sent as they are."""
    return litellm.completion(messages=guard(messages), **options)


async def aprivate_completion(guard: wv.PromptGuard, messages: list[dict[str, Any]], **options: Any) -> Any:
    """Call a model with private messages, without waiting."""
    return await litellm.acompletion(messages=guard(messages), **options)


def check_fields(data: dict[str, Any]) -> None:
    """Refuse a call with a field that may have a text in it."""
    for name, value in data.items():
        is_number = name in NUMBERS and isinstance(value, int | float | None)
        is_usage = name == "stream_options" and value == {"include_usage": True}  # as it adds this
        if not (is_number or is_usage) and name not in {"messages"} | SENT_AS_THEY_ARE | NOT_SENT:
            raise wv.ParameterError("The call has a field that would be sent as it is. Hint: messages only.")


def replace_messages(data: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    """Replace the messages of a call wherever LiteLLM keeps them, for other callbacks too."""
    data["messages"] = messages
    if "proxy_server_request" in data:  # the call as it came in
        data["proxy_server_request"]["body"] = {"messages": messages}
    if logging := data.get("litellm_logging_obj"):
        logging.update_messages(messages)
        logging.model_call_details["input"] = messages


class RefusedCall(wv.ParameterError):
    """A call that was not sent."""

    status_code = 400  # of the proxy's answer


class OnlyChats:
    """The proxy, with every route refused but `ROUTES`."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or refuse it before LiteLLM has read it."""
        path = scope.get("path", "").removeprefix(scope.get("root_path", ""))
        if scope["type"] == "lifespan" or (scope["type"] == "http" and path in ROUTES):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(NO_ROUTE).encode()})
        else:
            await send({"type": "websocket.close", "code": 1008})


class WordveilGuardrail(CustomGuardrail):  # type: ignore[misc]  # no types where LiteLLM is not installed
    """Perturbs the messages of every chat that passes through LiteLLM's proxy, which refuses all else.

    In the configuration of the proxy: `guardrail: prompts_litellm.WordveilGuardrail`, `mode: pre_call`,
    `default_on: true`. Any other configuration would let texts pass as they are, and is refused.
    """

    def __init__(self, perturber: wv.Perturber | None = None, **options: Any) -> None:
        super().__init__(**options)
        if self.default_on is not True or self.event_hook != "pre_call":
            raise wv.ParameterError("The guardrail must have 'mode: pre_call' and 'default_on: true'.")
        if self.run_in_parallel or self.scan_raw_request:  # LiteLLM drops what such guardrails have replaced
            raise wv.ParameterError("The guardrail must not have 'run_in_parallel' or 'scan_raw_request'.")
        self._perturber = perturber or wv.Perturber.from_profile("balanced")
        self._guards: OrderedDict[tuple[str, str], wv.PromptGuard] = OrderedDict()
        from litellm.proxy.proxy_server import app  # which has begun to start when it creates this

        if not isinstance(app.middleware_stack, OnlyChats):
            app.middleware_stack = OnlyChats(app.middleware_stack or app.build_middleware_stack())

    def should_run_guardrail(self, data: Any, event_type: Any) -> bool:  # noqa: ARG002  # LiteLLM's names
        """Return that it runs before every call: no key, team or kind of stream is left out."""
        return bool(event_type == "pre_call")

    def _guard(self, owner: str, session: str) -> wv.PromptGuard:
        """Return the guard of a conversation; without the name of a session, one for this call only."""
        if not session:
            return wv.PromptGuard(self._perturber, ROLES)
        guard = self._guards.setdefault((owner, session), wv.PromptGuard(self._perturber, ROLES))
        self._guards.move_to_end((owner, session))
        if len(self._guards) > CONVERSATIONS:
            self._guards.popitem(last=False)
        return guard

    def _private(self, owner: str, data: dict[str, Any], call_type: str) -> list[dict[str, Any]]:
        """Return the messages of a call as they may be sent."""
        if call_type not in ("completion", "acompletion"):
            raise wv.ParameterError("Only chats can be made private here: this kind of call is refused.")
        check_fields(data)
        if not isinstance(data.get("messages"), list):
            raise wv.ParameterError("The call must have a list of messages.")
        guard = self._guard(owner, str(data.get("litellm_session_id") or ""))
        return guard([*data["messages"]])

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,
        cache: Any,  # noqa: ARG002
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Replace the messages of a call. An error here ends the call: nothing is sent."""
        refusal = ""
        try:
            messages = self._private(str(user_api_key_dict.api_key), data, call_type)
        except wv.WordveilError as error:
            refusal, messages = str(error), []
            for name in data.keys() - NOT_SENT - {"model"}:  # or other callbacks would be passed the texts
                del data[name]
        replace_messages(data, messages)
        if refusal:  # only here, since the error above leads to the texts by its frames
            raise RefusedCall(refusal)
        return data


if __name__ == "__main__":
    guard = wv.PromptGuard(wv.Perturber.from_profile("balanced"))
    chat = [{"role": "user", "content": "My knee hurts since Sunday"}]
    # `mock_response` is LiteLLM's stand-in for a model that runs elsewhere.
    answer = private_completion(guard, chat, model="gpt-4o-mini", mock_response="Noted.")
    print(answer.choices[0].message.content)
