"""LangChain: the recipe of the example, with the real library around a model that records what it is sent."""

import asyncio
import runpy
from collections.abc import Callable
from pathlib import Path
from traceback import walk_tb
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, check_answers, check_distinct, run

RECIPE = runpy.run_path(str(ROOT / "examples" / "prompts_langchain.py"))
private_messages, PrivateMessages = RECIPE["private_messages"], RECIPE["PrivateMessages"]


class Recorder(GenericFakeChatModel):  # type: ignore[misc]
    """A model that runs elsewhere, as far as this machine can tell."""

    seen: list[list[Any]]

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append([*messages])
        return super()._generate(messages, *args, **kwargs)

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        self.seen.append([*messages])
        return super()._stream(messages, *args, **kwargs)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def recorder(*answers: AIMessage) -> Recorder:
    return Recorder(messages=iter(answers or [AIMessage("ok")] * 9), seen=[])


def test_a_runnable_sends_the_same_history_again(perturber: wv.Perturber) -> None:
    guard, model = wv.PromptGuard(perturber), recorder()
    chain = RunnableLambda(lambda messages: private_messages(guard, messages)) | model
    history: list[Any] = [SystemMessage("Be brief."), HumanMessage(TEXT, id=SECRET, name=SECRET)]
    history += [chain.invoke(history), HumanMessage(TEXT)]
    chain.invoke(history)
    first, second = model.seen
    assert SECRET not in repr(model.seen)
    assert [item.content for item in second[:2]] == [item.content for item in first]
    check_distinct([second[1].content, second[3].content])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_agent_and_its_tools(asynchronous: bool, perturber: wv.Perturber) -> None:
    @tool  # type: ignore[untyped-decorator]
    def look_up(name: str) -> str:
        """Look up a person."""
        return TEXT

    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {"name": "tea"}, "id": "1"}])
    model = recorder(call, AIMessage("ok"), AIMessage("ok"))
    guard = wv.PromptGuard(perturber, ("user", "tool"))
    agent = create_agent(model, tools=[look_up], middleware=[PrivateMessages(guard)])

    def ask(messages: list[Any]) -> list[Any]:
        state = {"messages": messages}
        answer = asyncio.run(agent.ainvoke(state)) if asynchronous else agent.invoke(state)
        return [*answer["messages"]]

    state = ask([HumanMessage(TEXT)])
    ask([*state, HumanMessage(TEXT)])
    assert len(model.seen) == 3
    assert SECRET not in repr(model.seen)
    assert [item.type for item in model.seen[-1]] == ["human", "ai", "tool", "ai", "human"]
    for earlier, later in zip(model.seen, model.seen[1:], strict=False):
        assert [item.content for item in later[: len(earlier)]] == [item.content for item in earlier]
    check_distinct(item.content for item in model.seen[-1] if item.type in ("human", "tool"))


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "invoke": lambda runnable, given: runnable.invoke(given),
    "stream": lambda runnable, given: [*runnable.stream(given)],
    "batch": lambda runnable, given: runnable.batch([given]),
    "ainvoke": lambda runnable, given: asyncio.run(runnable.ainvoke(given)),
    "astream": lambda runnable, given: asyncio.run(collected(runnable.astream(given))),
    "tokens": lambda runnable, given: asyncio.run(collected(runnable.astream(given, stream_mode="messages"))),
}


async def collected(stream: Any) -> list[Any]:
    return [part async for part in stream]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("is_agent", [False, True])
def test_every_way_to_call_sends_private_texts(name: str, is_agent: bool, perturber: wv.Perturber) -> None:
    if name == "tokens" and not is_agent:
        return  # only agents have it
    guard, model = wv.PromptGuard(perturber), recorder()
    if is_agent:
        CALLS[name](
            create_agent(model, middleware=[PrivateMessages(guard)]), {"messages": [HumanMessage(TEXT)]}
        )
    else:
        chain = RunnableLambda(lambda messages: private_messages(guard, messages)) | model
        CALLS[name](chain, [HumanMessage(TEXT)])
    assert model.seen
    assert SECRET not in repr(model.seen)


def test_parts_and_tools(perturber: wv.Perturber) -> None:
    guard = wv.PromptGuard(perturber, ("user", "tool", "system"))
    parts: list[Any] = [{"type": "text", "text": TEXT}]
    image: list[Any] = [*parts, {"type": "image_url", "image_url": {"url": SECRET}}]
    listed = [SystemMessage(parts), HumanMessage(parts), ToolMessage(TEXT, tool_call_id="1", artifact=SECRET)]
    assert SECRET not in repr(private_messages(guard, listed))
    for message in (HumanMessage(image), ToolMessage(image, tool_call_id="1"), HumanMessage([TEXT])):
        with pytest.raises(wv.ParameterError, match="not text"):
            private_messages(guard, [message])


CALL = {"name": "look_up", "args": {"name": SECRET}, "id": "1"}
NOT_REBUILT: list[tuple[str, BaseMessage]] = [
    ("assistant", AIMessage(TEXT)),
    ("assistant", AIMessage("", tool_calls=[CALL])),
    ("function", FunctionMessage(TEXT, name="look_up")),
    ("chat", ChatMessage(TEXT, role="user")),
]


@pytest.mark.parametrize(("role", "message"), NOT_REBUILT)
def test_what_can_not_be_rebuilt_is_refused_if_it_should_be_perturbed(
    role: str, message: BaseMessage, perturber: wv.Perturber
) -> None:
    with pytest.raises(wv.ParameterError, match="fields besides role and content"):
        private_messages(wv.PromptGuard(perturber, ("user", role)), [message])


@pytest.mark.parametrize("messages", [TEXT, [("user", TEXT)], [TEXT], [{"role": "user", "content": TEXT}]])
def test_what_is_no_message_of_langchain_is_refused(messages: Any, perturber: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="must be those of LangChain") as caught:
        private_messages(wv.PromptGuard(perturber), messages)
    assert SECRET not in str(caught.value)
    frames = [frame for frame, _ in walk_tb(caught.value.__traceback__)][1:]
    assert len(frames) == 1
    assert SECRET not in repr(frames[0].f_locals)


@pytest.mark.parametrize("roles", [("user",), ("user", "system")])
def test_the_system_prompt_of_an_agent_is_perturbed_if_asked_for(
    roles: tuple[str, ...], perturber: wv.Perturber
) -> None:
    model = recorder()
    middleware = [PrivateMessages(wv.PromptGuard(perturber, roles))]
    agent = create_agent(model, middleware=middleware, system_prompt=f"{SECRET} {TEXT}")
    for count in (1, 2):
        agent.invoke({"messages": [HumanMessage(TEXT) for _ in range(count)]})
    assert [item.type for item in model.seen[1]] == ["system", "human", "human"]
    assert [item.content for item in model.seen[1][:2]] == [item.content for item in model.seen[0]]
    assert (SECRET in repr(model.seen)) == ("system" not in roles)
    assert SECRET not in repr([messages[1:] for messages in model.seen])


def test_without_the_middleware_the_model_sees_the_texts() -> None:
    model = recorder()
    create_agent(model).invoke({"messages": [HumanMessage(TEXT)]})
    assert SECRET in repr(model.seen)


def test_messages_of_other_roles_are_refused(perturber: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="role that is not known"):
        private_messages(wv.PromptGuard(perturber), [ChatMessage(TEXT, role="human")])


def test_what_is_written(watched: Path) -> None:
    lines = run(
        f"""
        import os, runpy
        from langchain_core.language_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage, HumanMessage
        from langchain_core.runnables import RunnableLambda
        recipe = runpy.run_path({str(ROOT / "examples" / "prompts_langchain.py")!r})
        small_perturber()(TEXT)  # a stream of this process exists
        fork = os.fork()
        guard = wv.PromptGuard(small_perturber())
        private = RunnableLambda(lambda messages: recipe["private_messages"](guard, messages))
        chain = private | GenericFakeChatModel(messages=iter([AIMessage("ok")]))
        chain.invoke([HumanMessage(TEXT)])
        print(guard([{{"role": "user", "content": TEXT}}])[0]["content"], flush=True)  # what was sent
        fork and os.wait()
        """,
        watched,
    )
    check_answers(lines, watched, count=2, least_keys=2)
