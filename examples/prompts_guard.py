"""A private conversation with a language model: python examples/prompts_guard.py."""

from typing import Any

import wordveil as wv


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Stand in for a model that runs elsewhere."""
    return {"role": "assistant", "content": f"I have read {len(messages)} messages."}


guard = wv.PromptGuard(wv.Perturber.from_profile("balanced"))  # one for each conversation
chat: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
for text in ("My knee hurts since Sunday", "Which doctor should I see in Boston"):
    chat.append({"role": "user", "content": text})
    sent = guard(chat)  # earlier messages are sent again as they were sent before
    print([message["content"] for message in sent if message["role"] == "user"])
    chat.append(model(sent))
print(chat[-1]["content"])
