"""Private prompts in LangChain, as a Runnable and in an agent: python examples/prompts_langchain.py."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

import wordveil as wv

ROLES = {"human": "user", "ai": "assistant"}


def private_messages(guard: wv.PromptGuard, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages of a conversation as they may be sent. Only their text is sent, no other fields."""
    if isinstance(messages, str) or not all(isinstance(item, BaseMessage) for item in messages):
        del messages  # the frames of the error have no text
        raise wv.ParameterError("The messages must be those of LangChain. Hint: convert_to_messages.")
    sent = guard([_described(item) for item in messages])
    return [_rebuilt(item, message["content"]) for item, message in zip(messages, sent, strict=True)]


def _described(item: BaseMessage) -> dict[str, Any]:
    message = {"role": ROLES.get(item.type, item.type), "content": item.content}
    # All else, such as the answers of a model, is sent as it is. Because of the field that is added here, the
    # guard refuses it if its role is one that it should perturb.
    return (
        message if isinstance(item, HumanMessage | SystemMessage | ToolMessage) else message | {"item": item}
    )


def _rebuilt(item: BaseMessage, content: Any) -> BaseMessage:
    if isinstance(item, HumanMessage | SystemMessage):
        return type(item)(content)
    if isinstance(item, ToolMessage):
        return ToolMessage(content, tool_call_id=item.tool_call_id)
    return item


class PrivateMessages(AgentMiddleware):  # type: ignore[misc]  # no types where LangChain is not installed
    """Lets the model of an agent see private messages only. Create the agent anew for each conversation.

    The state of the agent, and so a checkpointer, still has the messages as they were written.
    """

    def __init__(self, guard: wv.PromptGuard) -> None:
        super().__init__()
        self._guard = guard

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> Any:
        """Replace the messages of a call."""
        return handler(self._private(request))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[Any]]
    ) -> Any:
        """Replace the messages of an asynchronous call."""
        return await handler(self._private(request))

    def _private(self, request: ModelRequest) -> ModelRequest:
        before = [] if request.system_message is None else [request.system_message]
        sent = private_messages(self._guard, [*before, *request.messages])
        if before:
            request = request.override(system_message=sent[0])
        return request.override(messages=sent[len(before) :])


if __name__ == "__main__":
    perturber = wv.Perturber.from_profile("balanced")
    # A stand-in for a model that runs elsewhere.
    model = GenericFakeChatModel(messages=iter([AIMessage("Noted."), AIMessage("Noted again.")]))

    guard = wv.PromptGuard(perturber)
    chain = RunnableLambda(lambda messages: private_messages(guard, messages)) | model
    print(chain.invoke([HumanMessage("My knee hurts since Sunday")]).content)

    agent = create_agent(model, middleware=[PrivateMessages(wv.PromptGuard(perturber, ("user", "tool")))])
    print(agent.invoke({"messages": [HumanMessage("My knee hurts since Sunday")]})["messages"][-1].content)
