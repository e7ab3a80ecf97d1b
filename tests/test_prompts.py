"""Conversations with language models: what is drawn once, drawn anew, and refused."""

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import wordveil as wv
from wordveil.integrations.library import perturbed_column

SECRET = "zanzibarska"
TEXT = f"{SECRET} {'book a flight to boston please ' * 8}".strip()


def user(content: Any = TEXT) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: str = "the flight is on fire") -> dict[str, Any]:
    return {"role": "assistant", "content": content}


SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.fixture
def guard(noisy: wv.Perturber) -> wv.PromptGuard:
    return wv.PromptGuard(noisy)


def test_only_the_roles_that_are_named_are_perturbed(guard: wv.PromptGuard) -> None:
    conversation = [SYSTEM, user(), assistant(), {"role": "developer", "content": "tea"}]
    original = copy.deepcopy(conversation)
    sent = guard(conversation)
    assert conversation == original
    assert [sent[0], sent[2], sent[3]] == [original[0], original[2], original[3]]
    assert len(sent[1]["content"].split()) == 49
    assert SECRET not in sent[1]["content"]


def test_the_history_is_sent_as_it_was(guard: wv.PromptGuard) -> None:
    conversation: list[dict[str, Any]] = [SYSTEM]
    earlier: list[dict[str, Any]] = []
    for _ in range(4):
        conversation.append(user())
        sent = guard(conversation)
        assert sent[: len(earlier)] == earlier
        conversation.append(assistant())
        earlier = [*sent, assistant()]
    assert guard(conversation[:2]) == earlier[:2]  # a shorter history changes nothing
    assert guard(conversation) == earlier


def test_a_message_whose_edit_is_undone_is_drawn_anew(guard: wv.PromptGuard) -> None:
    """As docs/integrations/prompts.md says."""
    first, _, third = (guard([user(text)]) for text in (TEXT, "red tea", TEXT))
    assert third != first


def test_equal_messages_at_other_positions_are_drawn_separately(guard: wv.PromptGuard) -> None:
    sent = guard([user()] * 6)
    assert len({message["content"] for message in sent}) == 6


def test_an_edited_message_is_drawn_anew_and_the_others_are_not(guard: wv.PromptGuard) -> None:
    first = guard([user(), assistant(), user()])
    second = guard([user(), assistant(), user(f"{TEXT} now")])
    assert second[0] == first[0]
    assert len(second[2]["content"].split()) == 50
    third = guard([user(), assistant(), user()])
    assert third[2]["content"] not in (first[2]["content"], second[2]["content"])


def test_another_conversation_shares_nothing(noisy: wv.Perturber) -> None:
    guards = [wv.PromptGuard(noisy) for _ in range(3)]
    first = [guard([user()])[0]["content"] for guard in guards]
    assert len({*first}) == 3
    assert [guard([user(), assistant()])[0]["content"] for guard in guards] == first


def test_a_prompt_without_a_position_is_drawn_anew(guard: wv.PromptGuard) -> None:
    assert len({guard(TEXT) for _ in range(3)}) == 3
    assert SECRET not in guard(TEXT)


def test_parts_of_a_message(guard: wv.PromptGuard) -> None:
    parts = [{"type": "text", "text": TEXT}, {"type": "input_text", "text": TEXT}]
    sent = guard([user(parts)])
    assert [part["type"] for part in sent[0]["content"]] == ["text", "input_text"]
    assert sent[0]["content"][0]["text"] != sent[0]["content"][1]["text"]
    assert SECRET not in str(sent)
    assert guard([user(parts), assistant()])[0] == sent[0]
    assert guard([user(None)]) == [user(None)]


def test_two_threads_send_the_same(guard: wv.PromptGuard, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(perturber: wv.Perturber, texts: Any) -> Any:
        time.sleep(0.1)  # until all threads are here
        return perturbed_column(perturber, texts)

    monkeypatch.setattr("wordveil.integrations.prompts.perturbed_column", slow)
    conversation = [user()] * 20
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: guard(conversation), range(32)))
    assert all(messages == sent[0] for messages in sent)


def test_results_of_tools_are_sent_with_a_warning_or_perturbed(noisy: wv.Perturber) -> None:
    result = {"role": "tool", "tool_call_id": "1", "content": TEXT}
    with pytest.warns(wv.PrivacyWarning, match=r"roles=\('user', 'tool'\)") as caught:
        assert wv.PromptGuard(noisy)([result]) == [result]
    assert [warning.filename for warning in caught] == [__file__]
    sent = wv.PromptGuard(noisy, roles=("user", "tool"))([result])
    assert sent[0]["tool_call_id"] == "1"
    assert SECRET not in str(sent)


def test_nothing_of_the_conversation_is_in_memory_or_leaves_the_process(
    guard: wv.PromptGuard, noisy: wv.Perturber
) -> None:
    guard([user()])
    assert SECRET not in repr(vars(guard)) + repr(guard)
    (other := wv.PromptGuard(noisy))([user()])
    assert guard._sent[0].digest != other._sent[0].digest  # or whoever guesses a message could check it
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(wv.WordveilError, match="can't be pickled or copied"):
            leave(guard)


BAD: dict[str, Any] = {
    "human": [{"role": "human", "content": TEXT}],
    "capital": [{"role": "User", "content": TEXT}],
    "no role": [{"content": TEXT}],
    "name": [user() | {"name": SECRET}],
    "image": [user([{"type": "image_url", "image_url": {"url": SECRET}}])],
    "part with more": [user([{"type": "text", "text": TEXT, "note": SECRET}])],
    "part of another kind": [user([{"type": "refusal", "text": TEXT}])],
    "number": [user(7)],
    "text": [TEXT],
    "one message": user(),
    "bytes": TEXT.encode(),
    "nothing": None,
}


@pytest.mark.parametrize("name", BAD)
def test_what_would_be_sent_as_it_is_is_refused(name: str, guard: wv.PromptGuard, check_sealed: Any) -> None:
    with pytest.raises(wv.ParameterError) as caught:
        guard(BAD[name])
    check_sealed(caught.value, SECRET)


@pytest.mark.parametrize("roles", ["user", ("tool",), (), (7, "user"), 7, None])
def test_bad_roles(roles: Any, noisy: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'roles'"):
        wv.PromptGuard(noisy, roles=roles)


def test_a_forked_process_can_not_use_a_guard(guard: wv.PromptGuard, monkeypatch: Any) -> None:
    """It would draw new noise for messages that this process sends too."""
    guard([{"role": "user", "content": "tea"}])
    monkeypatch.setattr("os.getpid", lambda: 1)
    for messages in ("tea", [{"role": "user", "content": "tea"}]):
        with pytest.raises(wv.WordveilError, match="another process"):
            guard(messages)


def test_a_guard_needs_a_perturber() -> None:
    with pytest.raises(wv.ParameterError, match="'perturber' parameter of PromptGuard"):
        wv.PromptGuard(print)  # type: ignore[arg-type]


def test_a_weak_setting_warns(glove: wv.Embedding) -> None:
    with pytest.warns(wv.PrivacyWarning, match="protects little"):
        wv.PromptGuard(wv.Perturber(wv.Mahalanobis(glove.project(10), 1e6)))
