"""Where vectors come from, in words for people."""

from dataclasses import dataclass

from wordveil.errors import parameter_error

__all__ = ["Provenance"]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where vectors come from, in words for people. Every field may be empty.

    `parent` is the fingerprint of the vectors that a projection or a map was made from.
    """

    name: str = ""
    source: str = ""
    licence: str = ""
    preprocessing: str = ""
    parent: str = ""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not isinstance(value, str) or not value.isprintable():
                raise parameter_error(name, "Provenance", "be a str of printable characters", value)
