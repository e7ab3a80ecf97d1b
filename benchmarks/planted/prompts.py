"""Mistakes in `wv.PromptGuard`, and in its recipe for LangChain."""

from typing import Final

from benchmarks.planted.mistake import NOTICED, Mistake
from benchmarks.planted.paths import LANGCHAIN as _LANGCHAIN
from benchmarks.planted.paths import LANGCHAIN_TESTS as _LANGCHAIN_TESTS
from benchmarks.planted.paths import PROMPTS as _FILE
from benchmarks.planted.paths import PROMPTS_TESTS as _TESTS

MISTAKES: Final = (
    Mistake(
        "PromptGuard: the history is drawn anew at every turn",
        _FILE,
        {"            if number not in self._sent or self._sent[number].digest != digest\n": ""},
        (f"{_TESTS}::test_the_history_is_sent_as_it_was",),
    ),
    Mistake(
        "PromptGuard: it remembers by content, so equal messages are seen",
        _FILE,
        {
            "            self._sent[number] = _Sent(digests[number], [next(answers) for _ in texts[number]])": (
                "            drawn = _Sent(digests[number], [next(answers) for _ in texts[number]])\n"
                "            equal = [sent for sent in self._sent.values() if sent.digest == drawn.digest]\n"
                "            self._sent[number] = equal[0] if equal else drawn"
            )
        },
        (f"{_TESTS}::test_equal_messages_at_other_positions_are_drawn_separately",),
    ),
    Mistake(
        "PromptGuard: an edited message is answered by what was sent before",
        _FILE,
        {" or self._sent[number].digest != digest": ""},
        (f"{_TESTS}::test_an_edited_message_is_drawn_anew_and_the_others_are_not",),
    ),
    Mistake(
        "PromptGuard: conversations share their memory",
        _FILE,
        {
            "class PromptGuard:\n": "_memory: dict[int, _Sent] = {}\n\n\nclass PromptGuard:\n",
            "        self._sent: dict[int, _Sent] = {}": "        self._sent = _memory",
        },
        (f"{_TESTS}::test_another_conversation_shares_nothing",),
    ),
    Mistake(
        "PromptGuard: a hash that anybody can check stands for a message",
        _FILE,
        {"secrets.token_bytes(32)": "bytes(32)"},
        (f"{_TESTS}::test_nothing_of_the_conversation_is_in_memory_or_leaves_the_process",),
    ),
    Mistake(
        "PromptGuard: a copy draws new noise for the same messages",
        _FILE,
        {
            "    def __reduce__(self) -> NoReturn:\n        raise WordveilError(": (
                "    def __reduce__(self):\n        return PromptGuard, (self._perturber,)\n"
                "        raise WordveilError("
            )
        },
        (f"{_TESTS}::test_nothing_of_the_conversation_is_in_memory_or_leaves_the_process",),
    ),
    Mistake(
        "PromptGuard: a forked process draws new noise for the same messages",
        _FILE,
        {"        if self._process != os.getpid():": "        if False:"},
        (f"{_TESTS}::test_a_forked_process_can_not_use_a_guard",),
    ),
    Mistake(
        "PromptGuard: two threads draw the same message",
        _FILE,
        {"        with self._lock:\n": "        if True:\n"},
        (f"{_TESTS}::test_two_threads_send_the_same",),
    ),
    Mistake(
        "PromptGuard: a role that is not known is sent as it is",
        _FILE,
        {"        elif role not in _SENT_AS_THEY_ARE:": "        elif False:"},
        (f"{_TESTS}::test_what_would_be_sent_as_it_is_is_refused",),
    ),
    Mistake(
        "PromptGuard: roles that are named are not perturbed",
        _FILE,
        {"        if role in self._roles:": '        if role == "user":'},
        (f"{_TESTS}::test_results_of_tools_are_sent_with_a_warning_or_perturbed",),
        reason=r"wordveil\.errors\.PrivacyWarning: Results of tools are sent",
    ),
    Mistake(
        "PromptGuard: the role of the user can be left out",
        _FILE,
        {' or "user" not in roles:': ":"},
        (f"{_TESTS}::test_bad_roles",),
    ),
    Mistake(
        "PromptGuard: results of tools are sent without a warning",
        _FILE,
        {"            warnings.warn(": "            (lambda *_, **__: None)("},
        (f"{_TESTS}::test_results_of_tools_are_sent_with_a_warning_or_perturbed",),
    ),
    Mistake(
        "PromptGuard: fields besides the content are sent as they are",
        _FILE,
        {"    if not _FIELDS.issuperset(message):": "    if False:"},
        (f"{_TESTS}::test_what_would_be_sent_as_it_is_is_refused",),
    ),
    Mistake(
        "LangChain: the middleware lets messages pass",
        _LANGCHAIN,
        {"        return handler(self._private(request))": "        return handler(request)"},
        (f"{_LANGCHAIN_TESTS}::test_an_agent_and_its_tools[False]",),
    ),
    Mistake(
        "LangChain: the asynchronous middleware lets messages pass",
        _LANGCHAIN,
        {"        return await handler(self._private(request))": "        return await handler(request)"},
        (f"{_LANGCHAIN_TESTS}::test_an_agent_and_its_tools[True]",),
    ),
    Mistake(
        "LangChain: other fields of a message pass",
        _LANGCHAIN,
        {"        return type(item)(content)": '        return item.model_copy(update={"content": content})'},
        (f"{_LANGCHAIN_TESTS}::test_a_runnable_sends_the_same_history_again",),
    ),
    Mistake(
        "LangChain: a message of another role is taken for the system's",
        _LANGCHAIN,
        {"ROLES.get(item.type, item.type)": 'ROLES.get(item.type, "system")'},
        (f"{_LANGCHAIN_TESTS}::test_messages_of_other_roles_are_refused",),
    ),
    Mistake(
        "LangChain: a message that should be perturbed is sent as it is",
        _LANGCHAIN,
        {' else message | {"item": item}': " else message"},
        (f"{_LANGCHAIN_TESTS}::test_what_can_not_be_rebuilt_is_refused_if_it_should_be_perturbed",),
    ),
    Mistake(
        "LangChain: a text or a tuple is an error that leads to it",
        _LANGCHAIN,
        {"    if isinstance(messages, str) or not all": "    if False and not all"},
        (f"{_LANGCHAIN_TESTS}::test_what_is_no_message_of_langchain_is_refused",),
        reason=r"AttributeError|" + NOTICED,
    ),
    Mistake(
        "LangChain: the system prompt of an agent is not seen",
        _LANGCHAIN,
        {
            "        before = [] if request.system_message is None else [request.system_message]": "        before = []"
        },
        (f"{_LANGCHAIN_TESTS}::test_the_system_prompt_of_an_agent_is_perturbed_if_asked_for",),
    ),
    Mistake(
        "LangChain: every turn has a guard of its own",
        _LANGCHAIN,
        {
            "    sent = guard([": "    sent = wv.PromptGuard(guard._perturber, tuple(guard._roles))([",
        },
        (
            f"{_LANGCHAIN_TESTS}::test_a_runnable_sends_the_same_history_again",
            f"{_LANGCHAIN_TESTS}::test_an_agent_and_its_tools",
        ),
    ),
)
