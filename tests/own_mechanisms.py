"""Mechanisms as users write them."""

import wordveil as wv

__all__ = ["WithoutGuarantee"]


class WithoutGuarantee(wv.Mechanism):
    """For tests that never ask what is promised."""

    @property
    def guarantee(self) -> wv.Guarantee:
        raise NotImplementedError
