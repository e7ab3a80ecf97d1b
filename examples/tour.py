"""What `make demo` shows: made-up messages before and after, at three settings, and what is promised."""

import wordveil as wv

MESSAGES = [
    "Please book a flight to Boston for my diabetes appointment on Monday!",
    "Zoë's new number is 555-0101, mail zoe@mail.example",
]


def main() -> None:
    """Perturb a few made-up messages and print the guarantee."""
    embedding = wv.load_embedding()
    embedding.verify()
    print(f"{embedding}, fingerprint verified\n")
    for message in MESSAGES:
        print(f"before            {message}")
        for epsilon in (20.0, 10.0, 5.0):
            for name, lam in (("round", 0.0), ("shaped", 1.0)):
                veil = wv.Perturber(wv.Mahalanobis(embedding, epsilon, lam))
                print(f"ε = {epsilon:<4g} {name:7}  {veil(message)}")
        print()
    print(wv.Perturber(wv.Mahalanobis(embedding, 10.0, 1.0)).guarantee)


if __name__ == "__main__":
    main()
