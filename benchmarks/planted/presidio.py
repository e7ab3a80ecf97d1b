"""Mistakes in `wv.presidio`."""

from typing import Final

from benchmarks.planted.mistake import NOTICED, Mistake
from benchmarks.planted.paths import PRESIDIO as _FILE
from benchmarks.planted.paths import PRESIDIO_TESTS as _TESTS

MISTAKES: Final = (
    Mistake(
        "Presidio: the operator takes no perturber from its parameters",
        _FILE,
        {
            '        return checked_perturber((params or {}).get("perturber"), "the operator \'wordveil\'")(text)': (
                "        return text"
            )
        },
        (f"{_TESTS}::test_the_operator_perturbs_entities_and_only_them",),
    ),
    Mistake(
        "Presidio: an operator without a perturber lets entities pass",
        _FILE,
        {
            '        return checked_perturber((params or {}).get("perturber"), "the operator \'wordveil\'")(text)': (
                '        return params["perturber"](text) if params and "perturber" in params else text'
            ),
            '        perturber = checked_perturber((params or {}).get("perturber"), "the operator \'wordveil\'")\n': (
                '        perturber = (params or {}).get("perturber")\n        if perturber is None:\n'
                "            return\n"
            ),
        },
        (f"{_TESTS}::test_the_operator_perturbs_entities_and_only_them",),
    ),
    Mistake(
        "Presidio: the operator does not warn of what stays",
        _FILE,
        {
            '        warnings.warn(\n            "The operator perturbs entities only.': (
                '        (lambda *_, **__: None)(\n            "The operator perturbs entities only.'
            )
        },
        (f"{_TESTS}::test_the_operator_warns",),
        reason=r"ValueError: not enough values to unpack",
    ),
    Mistake(
        "Presidio: placeholders are kept without being asked for",
        _FILE,
        {"    if unsafe_keep_placeholders is not True:": "    if False:"},
        (f"{_TESTS}::test_what_is_revealed_must_be_asked_for",),
    ),
    Mistake(
        "Presidio: anything that is not False keeps placeholders",
        _FILE,
        {"    if unsafe_keep_placeholders is not True:": "    if unsafe_keep_placeholders is False:"},
        (f"{_TESTS}::test_what_is_revealed_must_be_asked_for",),
    ),
    Mistake(
        "Presidio: nothing warns that placeholders are shown",
        _FILE,
        {
            '    warnings.warn(\n        "The output shows where': (
                '    (lambda *_, **__: None)(\n        "The output shows where'
            )
        },
        (f"{_TESTS}::test_what_is_revealed_must_be_asked_for",),
    ),
    Mistake(
        "Presidio: placeholders stand in padded or sorted texts",
        _FILE,
        {"    if perturber.policy.pad_to is not None or perturber.policy.bag:": "    if False:"},
        (f"{_TESTS}::test_what_is_revealed_must_be_asked_for",),
    ),
    Mistake(
        "Presidio: placeholders are perturbed as well",
        _FILE,
        {
            "    private = perturber.perturb([*pieces, text[end:]])\n": (
                "    private = perturber.perturb([*pieces, text[end:]])\n    types = perturber.perturb(types)\n"
            )
        },
        (f"{_TESTS}::test_placeholders_stay_and_all_else_is_perturbed",),
    ),
    Mistake(
        "Presidio: the words between placeholders stay",
        _FILE,
        {"    private = perturber.perturb([*pieces, text[end:]])\n": "    private = [*pieces, text[end:]]\n"},
        (
            f"{_TESTS}::test_placeholders_stay_and_all_else_is_perturbed",
            f"{_TESTS}::test_what_is_written",
        ),
    ),
    Mistake(
        "Presidio: what is left of an entity that overlaps another stays",
        _FILE,
        {"        while spans and spans[0][0] < stop:": "        while False:"},
        (f"{_TESTS}::test_entities_that_overlap_are_one",),
    ),
    Mistake(
        "Presidio: results of another text are taken",
        _FILE,
        {"    if any(not 0 <= start <= end <= length for start, end, *_ in spans):": "    if False:"},
        (f"{_TESTS}::test_results_of_another_text_are_refused",),
    ),
    Mistake(
        "Presidio: the e-mail recognizer asks the network for its list",
        _FILE,
        {"        _OfflineEmailRecognizer(),": "        predefined_recognizers.EmailRecognizer(),"},
        (f"{_TESTS}::test_the_analyzer_finds_patterns_without_a_network",),
        reason=r'failed on teardown with "AssertionError: assert not \[.publicsuffix\.org',
    ),
    Mistake(
        "Presidio: the list of suffixes is downloaded",
        _FILE,
        {"TLDExtract(cache_dir=None, suffix_list_urls=())": "TLDExtract(cache_dir=None)"},
        (f"{_TESTS}::test_the_analyzer_finds_patterns_without_a_network", f"{_TESTS}::test_what_is_written"),
        reason=NOTICED + r'|failed on teardown with "AssertionError: assert not \[.publicsuffix\.org',
    ),
    Mistake(
        "Presidio: the list of suffixes is stored",
        _FILE,
        {"TLDExtract(cache_dir=None, suffix_list_urls=())": "TLDExtract(suffix_list_urls=())"},
        (f"{_TESTS}::test_what_is_written",),
    ),
    Mistake(
        "Presidio: a model is downloaded",
        _FILE,
        {"nlp_engine=_BlankEngine(), ": ""},
        (f"{_TESTS}::test_what_is_written",),
    ),
    Mistake(
        "Presidio: the docs install a model by its name on the package index",
        "docs/integrations/presidio.md",
        {"## Network\n": "```sh\npip install en-core-web-lg\n```\n\n## Network\n"},
        (f"{_TESTS}::test_no_page_installs_a_model_by_name",),
    ),
)
