"""The same contract on a GPU, by PyTorch (extra `cuda`): a certified 16-bit screen; float64 decides."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MissingExtraError
from wordveil.nearest.search import NearestSearch, power_of_two

__all__ = ["TorchSearch"]

_FOLD: Final = 32
_ALIGN: Final = 8
_MOST_POINTS: Final = 65_536
_SHARE: Final = 0.2
_LEAST_BYTES: Final = 256 << 20
_UNIT: Final = 2.0**-24
_TINY: Final = 2.0**-60
_MOST_MEMBERS: Final = 1 << 26
_PAIRS_AT_ONCE: Final = 1 << 18

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "cuda", "A search on a GPU") from None
    return torch


class TorchSearch(NearestSearch):
    """A product of 16-bit floats, summed in 32 bits, screens; float64 distances decide among the few left.

    Rows and points are scaled to at most 1 and rounded: r = r̂ + e and q = q̂ + f. Then
    |q·r - q̂·r̂| ≤ ‖q‖·‖e‖ + ‖f‖·‖r̂‖, and the sum in float32 is off by at most γ·‖q̂‖·‖r̂‖. ‖r‖²/2 rides along as
    two products. Whether the device sums in float32 is found out, not assumed; if it does not, and on a CPU,
    the operands are float32. What float64 distances on the device can't tell apart is decided on the CPU by
    the canonical distance, so that the answers are the same bits as everywhere.

    Parameters
    ----------
    rows : array of float64
        What is searched.
    device : str
        Any device of PyTorch's.
    """

    threaded = True
    block = 16_384

    def __init__(self, rows: Floats, device: str = "cuda") -> None:
        super().__init__(rows)
        torch = self._library = _torch()
        self._device = torch.device(device)
        count, dim = self._rows.shape
        self._scale = self._row_scale()
        self._half = self._device.type == "cuda" and _sums_in_float32(torch, self._device)
        dtype = torch.float16 if self._half else torch.float32
        self._dtype = dtype
        self._table = torch.tensor(self._rows, device=self._device)
        scaled = self._table * self._scale
        halves = (scaled * scaled).sum(dim=1) / 2.0
        # Filled up so that columns can be folded and tensor cores fed.
        self._columns = -(-count // (_FOLD * _ALIGN)) * _FOLD * _ALIGN
        width = -(-(dim + 2) // _ALIGN) * _ALIGN
        screen = torch.zeros((self._columns, width), dtype=dtype, device=self._device)
        screen[:count, :dim] = scaled.to(dtype)
        screen[:count, dim] = (-halves).to(dtype)
        screen[:count, dim + 1] = (-halves - screen[:count, dim].to(torch.float64)).to(dtype)
        self._screen = screen.T.contiguous().T  # rows of the product's right operand lie as it wants them
        kept = screen[:count].to(torch.float64)
        rest = -halves - kept[:, dim] - kept[:, dim + 1]
        self._error = float(torch.linalg.vector_norm(scaled - kept[:, :dim], dim=1).max())
        self._size = float(torch.linalg.vector_norm(kept[:, :dim], dim=1).max())
        self._rest = float(rest.abs().max())
        self._here = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows, "device": str(self._device)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TorchSearch.__init__(self, state["rows"], state["device"])

    @contextmanager
    def _stream(self) -> Iterator[None]:
        """Work in a stream of this thread's own, so that threads overlap their copies and products."""
        torch = self._library
        if self._device.type != "cuda":
            yield
            return
        if not hasattr(self._here, "stream"):
            self._here.stream = torch.cuda.Stream(self._device)
            self._here.stream.wait_stream(torch.cuda.default_stream(self._device))
        with torch.cuda.stream(self._here.stream):
            yield

    def batch(self) -> int:
        """Return how many points are searched at a time: as many as a share of the free memory holds."""
        torch = self._library
        free = torch.cuda.mem_get_info(self._device)[0] if self._device.type == "cuda" else 1 << 30
        # A score, and what is left of it after folding.
        each = self._columns * (4 + 1)
        return int(max(1, min(_MOST_POINTS, max(_LEAST_BYTES, free * _SHARE) // each)))

    def _find(self, points: Floats, norms: Floats) -> Ints:
        torch = self._library
        answers = np.empty(len(points), dtype=np.int64)
        with torch.inference_mode(), self._stream():
            step = self.batch()
            for start in range(0, len(points), step):
                part = slice(start, start + step)
                given = self._sent(points[part])
                answers[part] = self.nearest_on_device(given, float(norms[part].max())).cpu().numpy()
        return answers

    def _sent(self, points: Floats) -> Any:
        """Return points on the device; by way of memory that it can copy from at full speed."""
        torch = self._library
        if self._device.type != "cuda":
            return torch.from_numpy(np.require(points, requirements=["C", "W"]))
        if getattr(self._here, "room", 0) < len(points):
            self._here.room = len(points)
            self._here.pinned = torch.empty(points.shape, dtype=torch.float64, pin_memory=True)
        pinned = self._here.pinned[: len(points)]
        pinned.numpy()[:] = points
        return pinned.to(self._device, non_blocking=True)

    def nearest_on_device(self, points: Any, longest: float) -> Any:
        """Return the answers to points that lie on the device, of which none is longer, as a tensor there."""
        torch = self._library
        shrink = min(1.0, float(power_of_two(np.array(longest * self._scale))))
        scores, tolerance = self._scores(points, longest, shrink)
        folded = scores.view(len(points), _FOLD, -1).amax(dim=1)
        floors = (folded.amax(dim=1).to(torch.float64) - tolerance).to(torch.float32)
        floors = torch.nextafter(floors, torch.full_like(floors, -torch.inf))
        which, lane = torch.nonzero(folded >= floors[:, None], as_tuple=True)
        if len(which) * _FOLD > _MOST_MEMBERS and len(points) > 1:
            half = len(points) // 2
            del scores, folded
            parts = [self.nearest_on_device(part, longest) for part in (points[:half], points[half:])]
            return torch.cat(parts)
        members = scores.view(len(points), _FOLD, -1)[which, :, lane]
        pair, fold = torch.nonzero(members >= floors[which][:, None], as_tuple=True)
        which, candidates = which[pair], fold * folded.shape[1] + lane[pair]
        real = candidates < len(self._rows)
        return self._resolved(points, which[real], candidates[real])

    def _scores(self, points: Any, longest: float, shrink: float) -> tuple[Any, float]:
        """Return approximate scores in float32, and how far from the best one the answer's may be."""
        torch = self._library
        dim = self._rows.shape[1]
        scaled = points * (self._scale * shrink)
        left = torch.zeros((len(points), self._screen.shape[1]), dtype=self._dtype, device=self._device)
        left[:, :dim] = scaled.to(self._dtype)
        left[:, dim] = left[:, dim + 1] = shrink
        size = longest * self._scale * shrink
        # Rounding a number loses at most this share of it, or this much of one below the range.
        share, least = (2.0**-11, 2.0**-25) if self._half else (2.0**-24, 2.0**-150)
        off = share * size + least * math.sqrt(dim)
        lost = share * shrink + least
        gamma = (dim + 8) * _UNIT / (1.0 - (dim + 8) * _UNIT)
        error = size * self._error + off * self._size + shrink * self._rest + lost
        error += gamma * ((size + off) * self._size + shrink) + _TINY
        slack = float(self._canonical_slack(np.array(longest))) * shrink * self._scale**2
        if self._half:
            scores = torch.mm(left, self._screen.T, out_dtype=torch.float32)
        else:
            scores = left @ self._screen.T
        scores[:, len(self._rows) :] = -torch.inf  # what fills up is never best
        return scores, 2.0 * error + slack

    def _resolved(self, points: Any, which: Any, candidates: Any) -> Any:
        """Return, for each point, the candidate that is nearest, canonically where float64 can't tell."""
        torch = self._library
        distances = torch.empty(len(which), dtype=torch.float64, device=self._device)
        for start in range(0, len(which), _PAIRS_AT_ONCE):
            part = slice(start, start + _PAIRS_AT_ONCE)
            difference = points[which[part]] - self._table[candidates[part]]
            distances[part] = (difference * difference).sum(dim=1)
        best = torch.full((len(points),), torch.inf, dtype=torch.float64, device=self._device)
        best.scatter_reduce_(0, which, distances, "amin")
        tolerance = 8.0 * (points.shape[1] + 8) * 2.0**-53
        near = distances <= best[which] * (1.0 + tolerance) + 2.0**-1000
        which, candidates = which[near], candidates[near]
        answers = torch.zeros(len(points), dtype=torch.int64, device=self._device)
        answers[which] = candidates
        if len(which) > len(points):
            self._decide_on_cpu(points, which, candidates, answers)
        return answers

    def _decide_on_cpu(self, points: Any, which: Any, candidates: Any, answers: Any) -> None:
        torch = self._library
        several = torch.bincount(which, minlength=len(points))[which] > 1
        which, candidates = which[several], candidates[several]
        close, renumbered = torch.unique(which, return_inverse=True)
        of, candidates = renumbered.cpu().numpy(), candidates.cpu().numpy()
        order = np.lexsort((candidates, of))
        decided = self._decide(points[close].cpu().numpy(), of[order], candidates[order])
        answers[close] = torch.from_numpy(decided).to(self._device)


def _sums_in_float32(torch: Any, device: Any) -> bool:
    """Return whether products of 16-bit floats are summed in 32 bits, for few rows and for many."""
    for rows, dim, columns in ((1, 64, 64), (512, 304, 4096), (4096, 1024, 256)):
        left = torch.full((rows, dim), 2.0**-12, dtype=torch.float16, device=device)
        left[:, 0] = 1.0
        right = torch.ones((columns, dim), dtype=torch.float16, device=device)
        try:
            found = torch.mm(left, right.T, out_dtype=torch.float32)
        except (RuntimeError, TypeError):  # a version or a device without it
            return False
        if not bool((found == 1.0 + (dim - 1) * 2.0**-12).all()):
            return False
    return True
