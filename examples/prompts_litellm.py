"""Private prompts with LiteLLM, from Python and in its proxy: python examples/prompts_litellm.py."""

from collections import OrderedDict
from typing import Any

import litellm
from litellm.integrations.custom_guardrail import CustomGuardrail

import wordveil as wv

CONVERSATIONS = 10_000  # that the proxy remembers; the messages of an older one are drawn anew


def private_completion(guard: wv.PromptGuard, messages: list[dict[str, Any]], **options: Any) -> Any:
    """Call a model with private messages. `litellm.completion` itself never calls a guardrail."""
    return litellm.completion(messages=guard(messages), **options)


class WordveilGuardrail(CustomGuardrail):  # type: ignore[misc]  # no types where LiteLLM is not installed
    """Perturbs the messages of every chat that passes through LiteLLM's proxy, and refuses other calls.

    In the configuration of the proxy: `guardrail: prompts_litellm.WordveilGuardrail`, `mode: pre_call`,
    `default_on: true`. Without `default_on` only calls that name the guardrail are perturbed.
    """

    def __init__(self, perturber: wv.Perturber | None = None, **options: Any) -> None:
        super().__init__(**options)
        self._perturber = perturber or wv.Perturber.from_profile("balanced")
        self._guards: OrderedDict[tuple[str, str], wv.PromptGuard] = OrderedDict()

    def _guard(self, owner: str, session: str) -> wv.PromptGuard:
        """Return the guard of a conversation; without the name of a session, one for this call only."""
        if not session:
            return wv.PromptGuard(self._perturber)
        guard = self._guards.setdefault((owner, session), wv.PromptGuard(self._perturber))
        self._guards.move_to_end((owner, session))
        if len(self._guards) > CONVERSATIONS:
            self._guards.popitem(last=False)
        return guard

    async def async_pre_call_hook(
        self,
        user_api_key_dict: Any,
        cache: Any,  # noqa: ARG002  # LiteLLM's names
        data: dict[str, Any],
        call_type: str,
    ) -> dict[str, Any]:
        """Replace the messages of a call. An error here ends the call: nothing is sent."""
        if call_type not in ("completion", "acompletion"):
            raise wv.ParameterError("Only chats can be made private here: this kind of call is refused.")
        guard = self._guard(str(user_api_key_dict.api_key), str(data.get("litellm_session_id") or ""))
        data["messages"] = guard(data["messages"])
        if "proxy_server_request" in data:  # the call as it came in, which loggers store
            data["proxy_server_request"]["body"] = {"messages": data["messages"]}
        return data


if __name__ == "__main__":
    guard = wv.PromptGuard(wv.Perturber.from_profile("balanced"))
    chat = [{"role": "user", "content": "My knee hurts since Sunday"}]
    # `mock_response` is LiteLLM's stand-in for a model that runs elsewhere.
    answer = private_completion(guard, chat, model="gpt-4o-mini", mock_response="Noted.")
    print(answer.choices[0].message.content)
