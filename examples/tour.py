"""What `make demo` shows: made-up messages before and after, at a few settings, and what is promised."""

import wordveil as wv

MESSAGES = [
    "Please book a flight to Boston for my diabetes appointment on Monday!",
    "Zoë's new number is 555-0101, mail zoe@mail.example",
]


def main() -> None:
    """Perturb a few made-up messages and print the guarantee."""
    whole = wv.load_embedding()
    whole.verify()
    small = whole.project(25)
    settings = {
        "ε = 20, 300 axes, round": wv.Laplace(whole, 20.0),
        "ε = 20, 300 axes, shaped": wv.Mahalanobis(whole, 20.0),
        "ε = 10, 300 axes, shaped": wv.Mahalanobis(whole, 10.0),
        "ε =  6,  25 axes, round": wv.Laplace(small, 6.0),
        "ε =  6,  25 axes, shaped": wv.Mahalanobis(small, 6.0),
    }
    print(f"{whole}, fingerprint verified\n")
    for message in MESSAGES:
        print(f"{'before':25} {message}")
        for name, mechanism in settings.items():
            print(f"{name:25} {wv.Perturber(mechanism)(message)}")
        print()
    print(
        f"At ε = 6 on the 25 strongest axes, shaped:\n\n{wv.Perturber(wv.Mahalanobis(small, 6.0)).guarantee}"
    )


if __name__ == "__main__":
    main()
