"""Mistakes in the recipe for LiteLLM."""

from typing import Final

from benchmarks.planted.mistake import LITELLM, NOTICED, Mistake
from benchmarks.planted.paths import LITELLM_PROXY as _LITELLM
from benchmarks.planted.paths import LITELLM_PROXY_TESTS as _PROXY_TESTS
from benchmarks.planted.paths import LITELLM_TESTS as _LITELLM_TESTS

_CHECK: Final = '        if self.default_on is not True or self.event_hook != "pre_call":'

MISTAKES: Final = (
    Mistake(
        "LiteLLM: results of tools pass the proxy",
        _LITELLM,
        {'ROLES = ("user", "tool", "function")': 'ROLES = ("user",)'},
        (f"{_LITELLM_TESTS}::test_the_proxy_perturbs_results_of_tools",),
        LITELLM,
        reason=r"wordveil\.errors\.PrivacyWarning: Results of tools are sent|" + NOTICED,
    ),
    Mistake(
        "LiteLLM: a guardrail that is off by default fails open",
        _LITELLM,
        {_CHECK: '        if self.event_hook != "pre_call":'},
        (f"{_LITELLM_TESTS}::test_configurations_that_let_texts_pass_are_refused[{{'default_on': False}}]",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a guardrail beside or after the call fails open",
        _LITELLM,
        {_CHECK: "        if self.default_on is not True:"},
        (
            f"{_LITELLM_TESTS}::test_configurations_that_let_texts_pass_are_refused[{{'event_hook': 'during_call'}}]",
            f"{_LITELLM_TESTS}::test_configurations_that_let_texts_pass_are_refused[{{'event_hook': None}}]",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a guardrail whose changes are dropped fails open",
        _LITELLM,
        {"        if self.run_in_parallel or self.scan_raw_request:": "        if False:"},
        (
            f"{_LITELLM_TESTS}::test_configurations_that_let_texts_pass_are_refused[{{'run_in_parallel': True}}]",
            f"{_LITELLM_TESTS}::test_configurations_that_let_texts_pass_are_refused[{{'scan_raw_request': True}}]",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a key or a stream is left out",
        _LITELLM,
        {"    def should_run_guardrail(": "    def _not_should_run_guardrail("},
        (f"{_LITELLM_TESTS}::test_no_key_or_stream_is_left_out",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the call from Python is not wrapped",
        _LITELLM,
        {
            "    return litellm.completion(messages=guard(messages)": "    return litellm.completion(messages=messages"
        },
        (f"{_LITELLM_TESTS}::test_the_wrapped_call_sends_private_texts_and_the_same_history",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the asynchronous call from Python is not wrapped",
        _LITELLM,
        {
            "    return await litellm.acompletion(messages=guard(messages)": (
                "    return await litellm.acompletion(messages=messages"
            )
        },
        (f"{_LITELLM_TESTS}::test_the_asynchronous_wrapper_sends_private_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the proxy sends messages as they are",
        _LITELLM,
        {"        replace_messages(data, messages)\n": ""},
        (
            f"{_LITELLM_TESTS}::test_a_request_through_the_proxy_itself",
            f"{_LITELLM_TESTS}::test_the_proxy_sends_private_texts",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the proxy keeps the request as it came in",
        _LITELLM,
        {'        data["proxy_server_request"]["body"] = {"messages": messages}\n': "        pass\n"},
        (f"{_LITELLM_TESTS}::test_the_proxy_sends_private_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: other fields pass the proxy",
        _LITELLM,
        {"        check_fields(data)\n": ""},
        (f"{_LITELLM_TESTS}::test_other_fields_are_refused",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: other kinds of calls pass the proxy",
        _LITELLM,
        {'        if call_type not in ("completion", "acompletion"):': "        if False:"},
        (f"{_LITELLM_TESTS}::test_other_calls_are_refused",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the history of a session is drawn anew at every turn",
        _LITELLM,
        {"        if not session:": "        if True:"},
        (
            f"{_LITELLM_TESTS}::test_a_request_through_the_proxy_itself",
            f"{_LITELLM_TESTS}::test_the_proxy_remembers_sessions_of_one_user",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: all requests without a session share one",
        _LITELLM,
        {"        if not session:": "        if False:"},
        (f"{_LITELLM_TESTS}::test_the_proxy_remembers_sessions_of_one_user",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: users share their sessions",
        _LITELLM,
        {"self._private(str(user_api_key_dict.api_key), ": 'self._private("", '},
        (f"{_LITELLM_TESTS}::test_the_proxy_remembers_sessions_of_one_user",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: routes that call no guardrail pass the proxy",
        _LITELLM,
        {' or (scope["type"] == "http" and path in ROUTES):': ' or scope["type"] == "http":'},
        (
            f"{_PROXY_TESTS}::test_other_routes_are_refused",
            f"{_PROXY_TESTS}::test_every_other_route_of_the_proxy_is_refused",
            f"{_PROXY_TESTS}::test_the_documented_configuration_refuses_routes",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a proxy that was started already answers all routes",
        _LITELLM,
        {
            "        if not isinstance(app.middleware_stack, OnlyChats):": "        if app.middleware_stack is None:"
        },
        (
            f"{_PROXY_TESTS}::test_other_routes_are_refused",
            f"{_PROXY_TESTS}::test_the_documented_configuration_refuses_routes",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a proxy that is yet to start answers all routes",
        _LITELLM,
        {
            "        if not isinstance(app.middleware_stack, OnlyChats):": "        if app.middleware_stack is not None:"
        },
        (f"{_PROXY_TESTS}::test_other_routes_are_refused",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: web sockets pass the proxy",
        _LITELLM,
        {
            '            await send({"type": "websocket.close", "code": 1008})': "            await self._app(scope, receive, send)"
        },
        (f"{_PROXY_TESTS}::test_web_sockets_are_refused",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: other callbacks are passed a refused call",
        _LITELLM,
        {"                del data[name]\n": "                pass\n"},
        (f"{_PROXY_TESTS}::test_other_callbacks_are_passed_no_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the error of a refused call leads to its texts",
        _LITELLM,
        {
            "str(error), []": "str(error), []\n            cause = error",
            "            raise RefusedCall(refusal)": "            raise RefusedCall(refusal) from cause",
        },
        (f"{_PROXY_TESTS}::test_other_callbacks_are_passed_no_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the object that logs a call keeps its input",
        _LITELLM,
        {'        logging.model_call_details["input"] = messages\n': ""},
        (f"{_PROXY_TESTS}::test_other_callbacks_are_passed_no_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: the object that logs a call keeps its messages",
        _LITELLM,
        {"        logging.update_messages(messages)\n": ""},
        (f"{_PROXY_TESTS}::test_other_callbacks_are_passed_no_texts",),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a refused call is an error of the server",
        _LITELLM,
        {"    status_code = 400  # of the proxy's answer\n": "    pass\n"},
        (
            f"{_PROXY_TESTS}::test_other_callbacks_are_passed_no_texts",
            f"{_PROXY_TESTS}::test_a_call_without_messages_is_refused",
        ),
        LITELLM,
    ),
    Mistake(
        "LiteLLM: a call without messages is no refusal",
        _LITELLM,
        {'        if not isinstance(data.get("messages"), list):': "        if False:"},
        (f"{_PROXY_TESTS}::test_a_call_without_messages_is_refused",),
        LITELLM,
    ),
)
