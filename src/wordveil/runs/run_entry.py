"""The entry of one run in the ledger."""

import warnings
from collections.abc import Callable
from typing import Any

from wordveil.errors import PrivacyWarning
from wordveil.runs.ledger import DamagedLedgerError, Ledger, Registration, Release, ReleaseOutcome
from wordveil.runs.sums import is_void, together

__all__ = ["RunEntry"]


class RunEntry:
    """The entry of one run, and what the manifest says about earlier releases.

    Without a ledger, nothing is recorded.

    Parameters
    ----------
    ledger : Ledger or None
        Where the run is recorded.
    describe : callable
        Returns what is about to be released. It is called only if there is a ledger, because it takes time.
    force : bool
        Rename a damaged ledger and start a new one.

    Attributes
    ----------
    number : int or None
        The number of the entry; None before it is written.
    earlier_releases : dict or None
        For the manifest: how many other releases of the content are known, and what they promise together.
    """

    def __init__(self, ledger: Ledger | None, describe: Callable[[], Release], *, force: bool) -> None:
        self._ledger, self._describe, self._force = ledger, describe, force
        self._target = ""
        self.number: int | None = None
        self.earlier_releases: dict[str, Any] | None = None

    def begin(self, *, again: bool) -> None:
        """Write a new entry; content that was released before is refused, unless `again`."""
        self._register(lambda ledger, release: ledger.begin(release, again=again))

    def resume(self, number: int | None, *, again: bool) -> None:
        """Use the entry of a stopped run again; write a new one if the ledger does not have it."""
        self._register(lambda ledger, release: ledger.resume(number, release, again=again))

    def settle(self, outcome: ReleaseOutcome) -> None:
        """Record the outcome of the run, if it has an entry."""
        if self._ledger is not None and self.number is not None:
            self._ledger.settle(self.number, self._target, outcome)

    def _register(self, register: Callable[[Ledger, Release], Registration]) -> None:
        if self._ledger is None:
            return
        release = self._describe()
        self.number, earlier = self._replacing_damaged(self._ledger, lambda book: register(book, release))
        self._target = release.target
        settings = [entry.setting for entry in earlier]
        self.earlier_releases = {"known": len(settings)}
        if settings:
            sentence = together(release.setting, settings)
            void = any(is_void(setting) for setting in (*settings, release.setting))
            self.earlier_releases |= {"together": sentence, "void": void}
            warnings.warn(f"This content is released again. {sentence}", PrivacyWarning, stacklevel=2)

    def _replacing_damaged(self, ledger: Ledger, register: Callable[[Ledger], Registration]) -> Registration:
        """Register the run; with `force`, a damaged ledger is replaced by a new one."""
        try:
            return register(ledger)
        except DamagedLedgerError:
            if not self._force:
                raise
        renamed = ledger.set_aside()
        warnings.warn(
            f"The ledger was damaged and is now called {renamed.name}. The new ledger does not know about "
            "earlier releases.",
            PrivacyWarning,
            stacklevel=2,
        )
        return register(ledger)
