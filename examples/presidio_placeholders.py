"""Private texts around the entities that Presidio finds: python examples/presidio_placeholders.py."""

import warnings

import wordveil as wv

MESSAGE = "Please refund 4111 1111 1111 1111 and write to ann@example.org about the damaged chair"

# Patterns only, without a model: names and places are not found, and are perturbed like all other words.
analyzer = wv.presidio.pattern_analyzer()
perturber = wv.Perturber.from_profile("balanced")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", wv.PrivacyWarning)  # placeholders show where the entities are
    print(
        wv.presidio.perturb_around(
            MESSAGE, analyzer.analyze(MESSAGE, "en"), perturber=perturber, unsafe_keep_placeholders=True
        )
    )
