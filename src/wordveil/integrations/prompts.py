"""Prompts for language models: private versions of the messages of one conversation."""

import hashlib
import json
import os
import secrets
import threading
import warnings
from collections.abc import Collection, Mapping, Sequence
from itertools import compress, starmap
from typing import Any, Final, NamedTuple, NoReturn, overload

from wordveil.errors import ParameterError, PrivacyWarning, WordveilError, sealed
from wordveil.integrations.library import checked_perturber, perturbed_column
from wordveil.perturber import Perturber, warn_if_weak

__all__ = ["PromptGuard"]

_OWNER: Final = "PromptGuard"
# Written by whoever runs the program, or by the model itself, which has seen private texts only.
_SENT_AS_THEY_ARE: Final = frozenset({"system", "developer", "assistant"})
_RESULTS: Final = frozenset({"tool", "function"})
_FIELDS: Final = frozenset({"role", "content", "tool_call_id"})
_TEXT_PARTS: Final = ("text", "input_text")

Message = Mapping[str, Any]
"""A message as most services take it: `role`, and `content` that is a str or a list of parts."""


class _Sent(NamedTuple):
    """A message that was sent: a keyed hash of its content, and its private texts."""

    digest: bytes
    texts: list[str | None]


class PromptGuard:
    """Makes the messages of one conversation private. Create one for each conversation.

    A model is sent the whole conversation at every turn. If its history were perturbed anew each time, the
    exponents of the guarantee would add up. So the guard remembers what it sent at each position and sends
    the same again; a message that was edited since is drawn anew, also if the edit is undone, so each of the
    two draws counts. It does not look for the same content at other positions, or earlier at the same one,
    which would reveal that two messages are equal.

    Parameters
    ----------
    perturber : Perturber
        Makes the texts private.
    roles : sequence of str
        The roles whose messages are perturbed. Those of the system, the developer and the assistant are sent
        as they are, unless they are named here. So are results of tools, with a PrivacyWarning.

    Examples
    --------
    >>> import wordveil as wv
    >>> guard = PromptGuard(wv.Perturber.from_profile("balanced"))
    >>> messages = [{"role": "system", "content": "Be brief."}]
    >>> messages += [{"role": "user", "content": "call me at noon"}]
    >>> sent = guard(messages)
    >>> sent[0]["content"], len(sent[1]["content"].split())
    ('Be brief.', 4)
    >>> messages += [{"role": "assistant", "content": "Why?"}, {"role": "user", "content": "tea"}]
    >>> guard(messages)[:2] == sent
    True
    """

    def __init__(self, perturber: Perturber, roles: Sequence[str] = ("user",)) -> None:
        self._perturber = checked_perturber(perturber, _OWNER)
        is_list = isinstance(roles, Collection) and not isinstance(roles, str)
        if not is_list or not all(isinstance(role, str) for role in roles) or "user" not in roles:
            raise ParameterError(
                "The 'roles' parameter of PromptGuard must be a list of roles with 'user' among them."
            )
        self._roles: Final = frozenset(roles)
        self._sent: dict[int, _Sent] = {}
        self._lock: Final = threading.Lock()  # two threads must not both draw a message for the first time
        self._key: Final = secrets.token_bytes(32)
        self._process: Final = os.getpid()
        warn_if_weak(perturber, None, stacklevel=3)

    @overload
    def __call__(self, messages: str) -> str: ...

    @overload
    def __call__(self, messages: Sequence[Message]) -> list[dict[str, Any]]: ...

    @sealed
    def __call__(self, messages: str | Sequence[Message]) -> str | list[dict[str, Any]]:
        """Return private versions of the messages so far, or of one prompt.

        A prompt that is a str has no position in a conversation: each call draws new noise.
        """
        if self._process != os.getpid():
            raise WordveilError(
                "A PromptGuard can't be used in another process, which does not know what this one sends. "
                "Hint: create it where its conversation is."
            )
        if isinstance(messages, str):
            return self._perturber(messages)
        if isinstance(messages, bytes | Mapping) or not isinstance(messages, Sequence):
            raise ParameterError(
                "The 'messages' parameter of PromptGuard must be a str or a list of messages."
            )
        return self._conversation([*messages])

    def _conversation(self, messages: list[Any]) -> list[dict[str, Any]]:
        # Not by a comprehension, which may be one more frame between a warning and the caller.
        is_guarded = starmap(self._is_guarded, enumerate(messages))
        guarded = dict(compress(enumerate(messages), is_guarded))
        texts = {number: _texts(number, message) for number, message in guarded.items()}
        with self._lock:
            self._draw_new(texts)
            private = {number: self._sent[number].texts for number in guarded}
        return [
            _filled(message, private[number]) if number in private else dict(message)
            for number, message in enumerate(messages)
        ]

    def _is_guarded(self, number: int, message: object) -> bool:
        if not isinstance(message, Mapping) or not isinstance(role := message.get("role"), str):
            raise ParameterError(
                f"Message {number} (counted from 0) must be a dict with a role and content. "
                "Hint: convert the messages of other libraries, as docs/integrations/prompts.md shows."
            )
        if role in self._roles:
            return True
        if role in _RESULTS:
            warnings.warn(
                "Results of tools are sent as they are, and they may be private. "
                f"Hint: roles=('user', '{role}').",
                PrivacyWarning,
                stacklevel=5,
            )
        elif role not in _SENT_AS_THEY_ARE:  # such as "human": it would be sent as it is
            raise ParameterError(
                f"Message {number} (counted from 0) has a role that is not known. Hint: name it in roles."
            )
        return False

    def _draw_new(self, texts: dict[int, list[str | None]]) -> None:
        """Perturb the messages that were not sent before, or have changed since, all at once."""
        digests = {number: self._digest(parts) for number, parts in texts.items()}
        new = [
            number
            for number, digest in digests.items()
            if number not in self._sent or self._sent[number].digest != digest
        ]
        answers = iter(perturbed_column(self._perturber, [text for number in new for text in texts[number]]))
        for number in new:
            self._sent[number] = _Sent(digests[number], [next(answers) for _ in texts[number]])

    def _digest(self, texts: list[str | None]) -> bytes:
        """Return a hash under a key of this object, so that its memory has no clean text."""
        content = json.dumps(texts).encode("ascii")
        return hashlib.blake2b(content, key=self._key, digest_size=32).digest()

    def __repr__(self) -> str:
        return f"<PromptGuard, {len(self._sent)} messages>"

    def __reduce__(self) -> NoReturn:
        raise WordveilError(
            "A PromptGuard can't be pickled or copied: the copy would draw new noise for the same messages. "
            "Hint: keep it in the process of its conversation."
        )


def _texts(number: int, message: Message) -> list[str | None]:
    """Return the texts of a message; refuse anything that would be sent as it is."""
    if not _FIELDS.issuperset(message):
        raise ParameterError(
            f"Message {number} (counted from 0) has fields besides role and content, which would be sent as "
            "they are. Hint: remove them."
        )
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [content]
    if not isinstance(content, Sequence) or not all(_is_text(part) for part in content):
        raise ParameterError(
            f"Message {number} (counted from 0) has content that is not text, which can't be perturbed. "
            "Hint: send only text."
        )
    return [part["text"] for part in content]


def _is_text(part: object) -> bool:
    return (
        isinstance(part, Mapping)
        and {*part} == {"type", "text"}
        and part["type"] in _TEXT_PARTS
        and isinstance(part["text"], str)
    )


def _filled(message: Message, texts: list[str | None]) -> dict[str, Any]:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return {**message, "content": texts[0]}
    parts = [{"type": part["type"], "text": text} for part, text in zip(content, texts, strict=True)]
    return {**message, "content": parts}
