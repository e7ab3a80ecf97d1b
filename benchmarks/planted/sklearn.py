"""Mistakes in `wv.sklearn`."""

from typing import Final

from benchmarks.planted.mistake import NOTICED, Mistake
from benchmarks.planted.paths import SKLEARN as _FILE
from benchmarks.planted.paths import SKLEARN_CACHE_TESTS as _CACHE_TESTS
from benchmarks.planted.paths import SKLEARN_TESTS as _TESTS

MISTAKES: Final = (
    Mistake(
        "scikit-learn: tags, texts are no input",
        _FILE,
        {"        tags.input_tags.string = tags.input_tags.one_d_array = True\n": ""},
        (f"{_TESTS}::test_tags",),
    ),
    Mistake(
        "scikit-learn: tags, tables of numbers are an input",
        _FILE,
        {
            "        tags.input_tags.two_d_array = (\n            False ": "        tags.input_tags.two_d_array = (\n            True "
        },
        (f"{_TESTS}::test_tags",),
    ),
    Mistake(
        "scikit-learn: tags, the output is taken for deterministic",
        _FILE,
        {"        tags.non_deterministic = True\n": ""},
        (f"{_TESTS}::test_tags",),
    ),
    Mistake(
        "scikit-learn: tags, a fit is required",
        _FILE,
        {"        tags.requires_fit = False\n": ""},
        (f"{_TESTS}::test_tags",),
    ),
    Mistake(
        "scikit-learn: tags, missing texts are no input",
        _FILE,
        {"        tags.input_tags.allow_nan = True\n": ""},
        (f"{_TESTS}::test_tags",),
    ),
    Mistake(
        "scikit-learn: clone copies the vectors",
        _FILE,
        {"    def __sklearn_clone__(": "    def _not_clone("},
        (f"{_TESTS}::test_a_clone_shares_the_vectors",),
    ),
    Mistake(
        "scikit-learn: a pickle is used with other vectors",
        _FILE,
        {"        if stated not in (None, perturber.mechanism.embedding.fingerprint):": "        if False:"},
        (f"{_TESTS}::test_other_vectors_than_those_of_the_fit_are_refused",),
    ),
    Mistake(
        "scikit-learn: a pickle has no fingerprint",
        _FILE,
        {"        self.vectors_fingerprint_ = perturber.mechanism.embedding.fingerprint\n": ""},
        (f"{_TESTS}::test_other_vectors_than_those_of_the_fit_are_refused",),
    ),
    Mistake(
        "scikit-learn: a fitted model keeps the texts",
        _FILE,
        {"        self.feature_names_in_ = _names(X, array)\n": "        self.feature_names_in_ = array\n"},
        (f"{_TESTS}::test_a_fitted_model_is_small_and_has_no_texts",),
    ),
    Mistake(
        "scikit-learn: set_output has no names of columns",
        _FILE,
        {"        self.feature_names_in_ = _names(X, array)\n": ""},
        (
            f"{_TESTS}::test_columns_of_frames",
            f"{_TESTS}::test_names_of_columns_are_known_without_a_fit",
        ),
        reason=NOTICED + r"|ValueError: Length mismatch",
    ),
    Mistake(
        "scikit-learn: a search does not reach ε",
        _FILE,
        {"            check_epsilon(self.epsilon, _OWNER),": "            1.0,"},
        (f"{_TESTS}::test_a_search_reaches_every_parameter",),
    ),
    Mistake(
        "scikit-learn: a search does not reach λ",
        _FILE,
        {
            '{"lam": self.lam, "answer"': '{"lam": 0.5, "answer"',
            "        if self.lam is not None:": "        if False:",
        },
        (f"{_TESTS}::test_a_search_reaches_every_parameter",),
    ),
    Mistake(
        "scikit-learn: a search does not reach the dimensions",
        _FILE,
        {"            self.dims,\n": "            None,\n"},
        (f"{_TESTS}::test_a_search_reaches_every_parameter",),
    ),
    Mistake(
        "scikit-learn: the processes of a search repeat each other's noise",
        "src/wordveil/integrations/library.py",
        {
            "from wordveil.randomness import thread_stream": "from wordveil.randomness import RunKey",
            "    private, _ = perturber": (
                "    global _stream\n"
                '    if "_stream" not in globals():\n'
                "        _stream = RunKey.of_run(bytes(32), True).stream()\n"
                "    private, _ = perturber"
            ),
            "thread_stream())": "_stream)",
        },
        (f"{_TESTS}::test_processes_draw_different_noise",),
    ),
    Mistake(
        "scikit-learn: a cached pipeline runs",
        _FILE,
        {"    if _MEMORY in own or (": "    if False and ("},
        (
            f"{_CACHE_TESTS}::test_a_cached_pipeline_is_refused_before_it_writes",
            f"{_CACHE_TESTS}::test_a_cached_function_is_refused",
        ),
    ),
    Mistake(
        "scikit-learn: a cached function runs in the threads and processes of Parallel",
        _FILE,
        {
            "    if _MEMORY in own or (own and any(map(_is_parallel_below_memory, _other_threads()))):": "    if _MEMORY in own:"
        },
        (
            f"{_CACHE_TESTS}::test_a_cached_function_that_runs_in_parallel_is_refused[threading]",
            f"{_CACHE_TESTS}::test_a_cached_function_that_runs_in_parallel_is_refused[loky]",
        ),
    ),
    Mistake(
        "scikit-learn: a cached pipeline is refused in other processes only after it has run",
        _FILE,
        {"        _refuse_memory()  # which pickles what it looks up, before anything is written\n": ""},
        (f"{_CACHE_TESTS}::test_a_cached_pipeline_is_refused_before_it_writes",),
    ),
    Mistake(
        "scikit-learn: transform after a cached fit runs",
        _FILE,
        {'        _refuse_memory()\n        if getattr(self, "clean': '        if getattr(self, "clean'},
        (
            f"{_CACHE_TESTS}::test_a_cached_function_is_refused",
            f"{_CACHE_TESTS}::test_clean_texts_in_a_cached_function_are_refused",
        ),
    ),
    Mistake(
        "scikit-learn: clean texts are cached",
        _FILE,
        {
            '        _refuse_memory()\n        if getattr(self, "clean': '        if getattr(self, "clean',
            "        return self._perturbed(X)\n\n": "        _refuse_memory()\n        return self._perturbed(X)\n\n",
        },
        (f"{_CACHE_TESTS}::test_clean_texts_in_a_cached_function_are_refused",),
    ),
    Mistake(
        "scikit-learn: the last step of a cached pipeline runs",
        _FILE,
        {'        elif name == "sklearn.pipeline" and ': "        elif False and "},
        (f"{_CACHE_TESTS}::test_the_last_step_of_a_cached_pipeline_is_refused",),
    ),
    Mistake(
        "scikit-learn: predict sees clean texts without being asked to",
        _FILE,
        {
            '        if getattr(self, "clean_at_predict_", False):': '        if hasattr(self, "clean_at_predict_"):'
        },
        (f"{_TESTS}::test_predict_sees_private_texts",),
    ),
    Mistake(
        "scikit-learn: the training texts are clean too",
        _FILE,
        {
            "        return self._fit(X, stacklevel=5)._perturbed(X)": "        return self.fit(X, y).transform(X)"
        },
        (f"{_TESTS}::test_clean_texts_at_predict_are_a_choice_that_warns",),
    ),
    Mistake(
        "scikit-learn: clean texts without a warning",
        _FILE,
        {
            "        if self.unsafe_clean_at_predict:\n            warnings": "        if False:\n            warnings"
        },
        (f"{_TESTS}::test_clean_texts_at_predict_are_a_choice_that_warns",),
    ),
    Mistake(
        "scikit-learn: clean texts by a parameter that was set after the fit",
        _FILE,
        {
            '        if getattr(self, "clean_at_predict_", False):': "        if self.unsafe_clean_at_predict:",
        },
        (f"{_TESTS}::test_clean_texts_are_chosen_in_fit",),
    ),
    Mistake(
        "scikit-learn: clean texts after a fit that failed",
        _FILE,
        {'        for name in ("vectors_fingerprint_", "clean_at_predict_"):': "        for name in ():"},
        (f"{_TESTS}::test_clean_texts_are_chosen_in_fit",),
    ),
)
