"""What `make demo` shows: a sentence before and after, at two settings, and what is promised."""

import wordveil as wv

SENTENCE = "please book a flight to boston for my diabetes appointment on monday"


def main() -> None:
    """Perturb one made-up sentence a few times and print the guarantee."""
    embedding = wv.load_embedding()
    embedding.verify()
    words = SENTENCE.split()
    print(f"{embedding}, fingerprint verified\n")
    print(f"before                {SENTENCE}")
    for epsilon in (20.0, 10.0, 5.0):
        for name, lam in (("round", 0.0), ("shaped", 1.0)):
            answers = wv.Mahalanobis(embedding, epsilon, lam).perturb_words(words)
            print(f"ε = {epsilon:<4g} {name:7}      {' '.join(answers)}")
    print(f"\n{wv.Mahalanobis(embedding, 10.0, 1.0).guarantee}")


if __name__ == "__main__":
    main()
