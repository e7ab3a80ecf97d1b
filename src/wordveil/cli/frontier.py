"""`wordveil frontier`: what λ, spaces, mechanisms and answers buy at equal attack."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from wordveil.cli.console import count_progress
from wordveil.cli.experiment_inputs import (
    NoCache,
    kept_when_stopped,
    parse_numbers,
    show_result,
    usable_cache,
)
from wordveil.cli.options import (
    Delimiter,
    Device,
    FormatOption,
    Json,
    NoHeader,
    NoQuotes,
    chosen_device,
)
from wordveil.cli.setting import Frequencies, FrequenciesArePublic
from wordveil.cli.spaces import (
    TEXTS,
    Answers,
    DataFile,
    Draws,
    Embeddings,
    Label,
    Lams,
    Linked,
    MechanismNames,
    SpaceDims,
    SplitColumn,
    TestFile,
    Text,
    all_mechanisms,
    list_answers,
    list_spaces,
    parse_shares,
    prior_of,
    read_data,
)
from wordveil.evaluation.classifiers import ClassifierName
from wordveil.evaluation.frontier_cache import user_facts
from wordveil.evaluation.frontier_experiment import frontier as measure_frontier
from wordveil.report.output import check_folder

__all__ = ["frontier"]

DIMS: Final = (10, 15, 50)


def frontier(
    embedding: Embeddings = None,
    dims: SpaceDims = None,
    mechanism: MechanismNames = None,
    lams: Lams = "0,1",
    answers: Answers = "nearest,closest",
    attacks: Annotated[
        str,
        typer.Option(metavar="S,S,…", help="Draw each line through the ε at which S is about this."),
    ] = "0.1,0.2,0.3,0.45",
    epsilons: Annotated[
        str | None, typer.Option(metavar="E,E,…", help="These ε on every line, in place of --attacks.")
    ] = None,
    draws: Draws = 2000,
    word_draws: Annotated[
        int, typer.Option(metavar="N", help="Draws of each word, for N_w and for watched words.")
    ] = 20,
    data: DataFile = None,
    text: Text = None,
    label: Label = None,
    test_file: TestFile = None,
    split_column: SplitColumn = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    classifier: Annotated[
        ClassifierName, typer.Option(help="Which classifier.", rich_help_panel=TEXTS)
    ] = "bow",
    test: Annotated[
        Literal["private", "clean"],
        typer.Option(help="Which text the classifier is tested on.", rich_help_panel=TEXTS),
    ] = "private",
    repetitions: Annotated[
        int, typer.Option(metavar="N", help="How many splits and draws.", rich_help_panel=TEXTS)
    ] = 3,
    linked: Linked = 2000,
    frequencies: Frequencies = None,
    frequencies_are_public: FrequenciesArePublic = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the tables, the figures and an HTML page to this folder.")
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="N", help="Only public words and scores are shown.")
    ] = 0,
    device: Device = "auto",
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Compare settings by what an attacker gains: how close answers are, what is proven, what is learnt.

    Without --data only public words are drawn. If it is interrupted, run the same command again.
    """
    check_folder(out)
    search_device = chosen_device(device)
    targets = parse_shares(attacks, "attacks")
    values = None if epsilons is None else parse_numbers(epsilons, "epsilons")
    labelled = read_data(
        data, text, label, test_file, split_column, (format, delimiter, no_header, no_quotes)
    )
    spaces = list_spaces(embedding, dims, DIMS)
    cache = usable_cache(user_facts, no_cache)
    with kept_when_stopped(cache), count_progress("measuring") as watch:
        result = measure_frontier(
            spaces,
            mechanisms=all_mechanisms(mechanism, to_release=False),
            lams=parse_numbers(lams, "lams"),
            answers=list_answers(answers),
            attacks=targets,
            epsilons=values,
            prior=prior_of(frequencies, frequencies_are_public),
            data=labelled,
            classifier=classifier,
            tested_on=test,
            repetitions=repetitions,
            linked=linked,
            draws=draws,
            word_draws=word_draws,
            seed=seed,
            device=search_device,
            cache=cache,
            watch=watch,
        )
    show_result(result, out, as_json=as_json)
