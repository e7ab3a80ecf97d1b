"""Mistakes in `wv.datasets`."""

from typing import Final

from benchmarks.planted.mistake import NOTICED, Mistake
from benchmarks.planted.paths import DATASETS as _FILE
from benchmarks.planted.paths import DATASETS_TESTS as _TESTS

MISTAKES: Final = (
    Mistake(
        "datasets: the fingerprint is derived from the texts",
        _FILE,
        {"        new_fingerprint=fingerprint,\n": ""},
        (f"{_TESTS}::test_the_fingerprint_is_no_hash_of_the_texts",),
    ),
    Mistake(
        "datasets: the fingerprint is not random",
        _FILE,
        {"fingerprint = secrets.token_hex(8)": 'fingerprint = "0" * 16'},
        (
            f"{_TESTS}::test_every_call_and_process_draws_anew",
            f"{_TESTS}::test_the_fingerprint_is_no_hash_of_the_texts",
        ),
    ),
    Mistake(
        "datasets: an empty part keeps the fingerprint that it came with",
        _FILE,
        {"    if not len(part):": "    if False:"},
        (f"{_TESTS}::test_an_empty_part_is_no_hash_of_the_others",),
    ),
    Mistake(
        "datasets: results are loaded from the cache",
        _FILE,
        {"load_from_cache_file=False": "load_from_cache_file=True"},
        (f"{_TESTS}::test_a_file_of_the_same_name_is_not_loaded",),
    ),
    Mistake(
        "datasets: results are written to the cache of the library",
        _FILE,
        {'{"keep_in_memory": True}': '{"keep_in_memory": False}'},
        (f"{_TESTS}::test_nothing_that_is_written_has_the_texts",),
    ),
    Mistake(
        "datasets: a cache folder may be that of others",
        _FILE,
        {"    if not is_own_folder(folder):": "    if False:"},
        (f"{_TESTS}::test_a_cache_folder_must_be_private",),
    ),
    Mistake(
        "datasets: a new cache folder can be read by others",
        _FILE,
        {
            "folder.mkdir(mode=0o700, parents=True, exist_ok=True)": "folder.mkdir(parents=True, exist_ok=True)",
            "    if not is_own_folder(folder):": "    if False:",
        },
        (f"{_TESTS}::test_nothing_that_is_written_has_the_texts[private/arrow]",),
    ),
    Mistake(
        "datasets: a file in the cache folder can be read by others",
        _FILE,
        {'folder.glob(f"{fingerprint}*.arrow")': "()"},
        (f"{_TESTS}::test_nothing_that_is_written_has_the_texts[private/arrow]",),
    ),
    Mistake(
        "datasets: columns that are not named stay",
        _FILE,
        {".select_columns(names)": ""},
        (f"{_TESTS}::test_only_named_columns_are_left",),
    ),
    Mistake(
        "datasets: columns of a stream that are not named stay",
        _FILE,
        {
            "return selected.map(_Once(": "return part.map(_Once(",
        },
        (f"{_TESTS}::test_a_stream_without_known_columns",),
    ),
    Mistake(
        "datasets: metadata of Arrow passes",
        _FILE,
        {"part.with_format(None).select_columns(names)": "part"},
        (f"{_TESTS}::test_metadata_of_arrow_is_left_behind",),
    ),
    Mistake(
        "datasets: info says what the original was",
        _FILE,
        {'        if field.name != "features":': "        if False:"},
        (f"{_TESTS}::test_info_has_the_guarantee_and_nothing_of_the_original",),
    ),
    Mistake(
        "datasets: info has no guarantee and no manifest",
        _FILE,
        {"    info.description = description\n": ""},
        (
            f"{_TESTS}::test_info_has_the_guarantee_and_nothing_of_the_original",
            f"{_TESTS}::test_all_parts_of_a_dict",
        ),
        reason=NOTICED + r"|wordveil\.errors\.FormatError: The data set: has no manifest",
    ),
    Mistake(
        "datasets: only the first part of a DatasetDict is perturbed",
        _FILE,
        {
            "        name: _perturbed(part, perturber, chosen, kept, num_proc, folder) for name, part in parts.items()": (
                "        name: part if name == 'test' else _perturbed(part, perturber, chosen, kept, num_proc, folder)\n"
                "        for name, part in parts.items()"
            )
        },
        (f"{_TESTS}::test_all_parts_of_a_dict",),
    ),
    Mistake(
        "datasets: a DatasetDict comes back as a dict, without its manifest",
        _FILE,
        {"return type(dataset)(private) if": "return private if"},
        (f"{_TESTS}::test_all_parts_of_a_dict",),
    ),
    Mistake(
        "datasets: a stream draws anew in a second pass",
        _FILE,
        {"        if rows[0] < self._next_row:": "        if False:"},
        (f"{_TESTS}::test_a_stream_is_read_once", f"{_TESTS}::test_a_second_epoch_is_refused"),
    ),
    Mistake(
        "datasets: a stream is read in another process too",
        _FILE,
        {"        if self._process != os.getpid():": "        if False:"},
        (f"{_TESTS}::test_a_stream_stays_in_its_process",),
    ),
    Mistake(
        "datasets: a stream is sent to another process",
        _FILE,
        {"    def __reduce__(self) -> NoReturn:": "    def __not_reduce__(self) -> NoReturn:"},
        (f"{_TESTS}::test_a_stream_stays_in_its_process",),
    ),
)
