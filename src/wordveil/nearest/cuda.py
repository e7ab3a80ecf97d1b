"""The same contract on a GPU, by PyTorch (extra `cuda`): a certified 16-bit screen; float64 decides."""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError, MissingExtraError
from wordveil.nearest.search import NearestSearch, close_tolerance, power_of_two
from wordveil.nearest.threads import all_cores

__all__ = ["TorchSearch", "torch_library"]

# Scores are reduced to the maximum of every 32, and only groups that may hold the answer are looked at again.
# More would mean fewer maxima to scan, and more scores per group to look at.
_FOLD: Final = 32
# Tensor cores need sizes that are multiples of 8 for 16-bit floats.
_ALIGN: Final = 8
# Points per product, if the memory is there. With the default vectors on an H200 with 16 threads the memory
# allows some 25,000 (benchmarks/results/gpu.json). Few dimensions or words would allow far more, but that is
# no faster.
_MOST_POINTS: Final = 65_536
# The share of the free memory that all threads together use for scores; the other half is for candidates and
# for other programs. A thread takes at least `_LEAST_BYTES`, and halves its batch if that is too much.
_MEMORY_SHARE: Final = 0.5
_LEAST_BYTES: Final = 64 << 20
_TINY: Final = 2.0**-60  # more than all that underflows can add up to
# Scores of promising groups, and numbers of pairs whose distances are computed, at a time: 256 MiB in float32
# and 512 MiB in float64. Only vocabularies of (nearly) equal vectors have that many.
_MOST_MEMBERS: Final = 1 << 26
_PAIR_NUMBERS: Final = 1 << 26

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def torch_library() -> Any:
    """Return PyTorch, or raise an error that names the extra to install."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "cuda", "A search on a GPU") from None
    return torch


class TorchSearch(NearestSearch):
    """A product of 16-bit floats, summed in 32 bits, screens the rows; float64 distances decide.

    Rows and points are scaled to at most 1 and rounded: r = r̂ + e and q = q̂ + f. Then
    |q·r - q̂·r̂| ≤ ‖q‖·‖e‖ + ‖f‖·‖r̂‖. A sum of m products in float32 whose terms may be truncated instead of
    rounded, as tensor cores do, is off by at most γ·‖q̂‖·‖r̂‖ with γ = (m + 8)·2⁻²². ‖r‖²/2 is included as two
    products. Whether the device keeps that many bits is tested, not assumed; if it does not, and on a CPU,
    the screen is a float64 product. Where float64 distances on the device are too close to call, the
    canonical distance decides on the CPU, so the answers are the same as everywhere else.

    Parameters
    ----------
    rows : array of float64
        The rows to search.
    device : str
        Any device that PyTorch knows.
    half : bool, optional
        Whether to use 16-bit floats (default: on a GPU that sums them in 32 bits). A CPU imitates a GPU then.
    """

    threaded = True
    block = 16_384

    def __init__(self, rows: Floats, device: str = "cuda", *, half: bool | None = None) -> None:
        super().__init__(rows)
        torch = self._library = torch_library()
        self._device = torch.device(device)
        on_gpu = self._device.type == "cuda"
        self._half = on_gpu and _sums_in_float32(torch, self._device) if half is None else half
        self._scale = self._row_scale()
        self._table = torch.tensor(self._rows, device=self._device)
        self._fill_screen()
        self._local = threading.local()
        if on_gpu:
            torch.cuda.synchronize(self._device)  # other streams will read these tensors

    def _fill_screen(self) -> None:
        """Build the right operand: rounded rows, and ‖r‖²/2 in two parts."""
        torch, (count, dim) = self._library, self._rows.shape
        self._dtype = torch.float16 if self._half else torch.float64
        scaled = self._table * self._scale
        halves = (scaled * scaled).sum(dim=1) / 2.0
        # Padded, so columns can be folded and tensor cores can be used.
        columns = -(-count // (_FOLD * _ALIGN)) * _FOLD * _ALIGN
        width = -(-(dim + 2) // _ALIGN) * _ALIGN
        self._screen = torch.zeros((columns, width), dtype=self._dtype, device=self._device)
        rounded = self._screen[:count]
        rounded[:, :dim] = scaled.to(self._dtype)
        rounded[:, dim] = (-halves).to(self._dtype)
        rounded[:, dim + 1] = (-halves - rounded[:, dim].to(torch.float64)).to(self._dtype)
        exact = rounded.to(torch.float64)
        halves_error = -halves - exact[:, dim] - exact[:, dim + 1]
        self._row_error = float(torch.linalg.vector_norm(scaled - exact[:, :dim], dim=1).max())
        self._row_size = float(torch.linalg.vector_norm(exact[:, :dim], dim=1).max())
        self._halves_error = float(halves_error.abs().max())

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows, "device": str(self._device), "half": self._half}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TorchSearch.__init__(self, state["rows"], state["device"], half=state["half"])

    @contextmanager
    def _stream(self) -> Iterator[None]:
        """Use a stream per thread, so copies and products of different threads overlap."""
        torch = self._library
        if self._device.type != "cuda":
            yield
            return
        if not hasattr(self._local, "stream"):
            self._local.stream = torch.cuda.Stream(self._device)
        with torch.cuda.stream(self._local.stream):
            yield

    def batch(self, threads: int | None = None) -> int:
        """Return how many points to search at a time, given a thread's share of the free memory."""
        torch = self._library
        free = torch.cuda.mem_get_info(self._device)[0] if self._device.type == "cuda" else 1 << 30
        # The scores of a point, and their maxima after folding.
        point_bytes = len(self._screen) * (5 if self._half else 9)
        share = free * _MEMORY_SHARE / (all_cores() if threads is None else threads)
        return int(max(1, min(_MOST_POINTS, max(_LEAST_BYTES, share) // point_bytes)))

    def _find(self, points: Floats, norms: Floats) -> Ints:
        torch = self._library
        answers = np.empty(len(points), dtype=np.int64)
        step, start = self.batch(), 0
        with torch.inference_mode(), self._stream():
            while start < len(points):
                part = slice(start, start + step)
                try:
                    # Fetching the answers waits for the device, so the pinned memory can be reused.
                    on_device = self.nearest_on_device(self._send(points[part]), float(norms[part].max()))
                    answers[part] = on_device.cpu().numpy()
                except torch.OutOfMemoryError:
                    if step == 1:
                        raise MachineError("The GPU has too little memory. Hint: --device cpu.") from None
                    torch.cuda.empty_cache()
                    step = -(-step // 2)
                    continue
                start += step
        return answers

    def _send(self, points: Floats) -> Any:
        """Copy points to the device through pinned memory, which it can read at full speed."""
        torch = self._library
        if self._device.type != "cuda":
            return torch.from_numpy(np.require(points, requirements=["C", "W"]))
        if getattr(self._local, "capacity", 0) < len(points):
            self._local.capacity = len(points)
            self._local.pinned = torch.empty(points.shape, dtype=torch.float64, pin_memory=True)
        pinned = self._local.pinned[: len(points)]
        pinned.numpy()[:] = points
        return pinned.to(self._device, non_blocking=True)

    def nearest_on_device(self, points: Any, longest: float) -> Any:
        """Return the answers to points on the device, as a tensor there; `longest` bounds their norms."""
        torch = self._library
        shrink = min(1.0, float(power_of_two(np.array(longest * self._scale))))
        scores, tolerance = self._scores(points, longest, shrink)
        folded = scores.view(len(points), _FOLD, -1).amax(dim=1)
        floors = (folded.amax(dim=1).to(torch.float64) - tolerance).to(scores.dtype)
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
        is_row = candidates < len(self._rows)
        return self._resolved(points, which[is_row], candidates[is_row])

    def _scores(self, points: Any, longest: float, shrink: float) -> tuple[Any, float]:
        """Return approximate scores, and how far below the best one the answer's may be."""
        torch = self._library
        dim = self._rows.shape[1]
        left = torch.zeros((len(points), self._screen.shape[1]), dtype=self._dtype, device=self._device)
        left[:, :dim] = (points * (self._scale * shrink)).to(self._dtype)
        left[:, dim] = left[:, dim + 1] = shrink
        size = longest * self._scale * shrink
        # Rounding changes a number by at most this share of it, or by this much if it is subnormal; `unit` is
        # the share that each step of a sum may lose.
        share, least, unit = (2.0**-11, 2.0**-25, 2.0**-22) if self._half else (2.0**-53, 0.0, 2.0**-52)
        point_error = share * size + least * math.sqrt(dim)
        error = size * self._row_error + point_error * self._row_size
        error += shrink * self._halves_error + share * shrink + least
        error += (dim + 8) * unit * ((size + point_error) * self._row_size + shrink) + _TINY
        slack = float(self._canonical_slack(np.array(longest))) * shrink * self._scale**2
        scores = self._product(left)
        scores[:, len(self._rows) :] = -torch.inf  # the padding is never best
        return scores, 2.0 * error + slack

    def _product(self, left: Any) -> Any:
        torch = self._library
        if not self._half:
            return left @ self._screen.T
        if self._device.type != "cuda":  # products of 16-bit floats are exact in float32
            return left.to(torch.float32) @ self._screen.to(torch.float32).T
        if getattr(torch.backends.cuda.matmul, "allow_fp16_accumulation", False):
            raise MachineError(
                "PyTorch is set to sum in 16 bits, which is too imprecise for this search. "
                "Hint: torch.backends.cuda.matmul.allow_fp16_accumulation = False."
            )
        return torch.mm(left, self._screen.T, out_dtype=torch.float32)

    def _resolved(self, points: Any, which: Any, candidates: Any) -> Any:
        """Return the nearest candidate of each point, by the canonical distance if float64 is too close."""
        torch = self._library
        distances = torch.empty(len(which), dtype=torch.float64, device=self._device)
        step = max(1, _PAIR_NUMBERS // points.shape[1])
        for start in range(0, len(which), step):
            part = slice(start, start + step)
            difference = points[which[part]] - self._table[candidates[part]]
            distances[part] = (difference * difference).sum(dim=1)
        best = torch.full((len(points),), torch.inf, dtype=torch.float64, device=self._device)
        best.scatter_reduce_(0, which, distances, "amin")
        is_close = distances <= best[which] * (1.0 + close_tolerance(points.shape[1])) + 2.0**-1000
        which, candidates = which[is_close], candidates[is_close]
        answers = torch.full((len(points),), -1, dtype=torch.int64, device=self._device)
        answers[which] = candidates
        if len(which) > len(points):
            self._decide_on_cpu(points, which, candidates, answers)
        return answers

    def _decide_on_cpu(self, points: Any, which: Any, candidates: Any, answers: Any) -> None:
        torch = self._library
        several = torch.bincount(which, minlength=len(points))[which] > 1
        which, candidates = which[several], candidates[several]
        close, renumbered = torch.unique(which, return_inverse=True)
        which, candidates = renumbered.cpu().numpy(), candidates.cpu().numpy()
        order = np.lexsort((candidates, which))
        decided = self._decide(points[close].cpu().numpy(), which[order], candidates[order])
        answers[close] = torch.from_numpy(decided).to(self._device)


def _sums_in_float32(torch: Any, device: Any) -> bool:
    """Return whether sums of products of 16-bit floats are as precise as float32, for few and many rows."""
    for rows, dim, columns in ((1, 64, 64), (512, 304, 4096), (4096, 1024, 256)):
        left = torch.full((rows, dim), 2.0**-12, dtype=torch.float16, device=device)
        right = torch.full((columns, dim), 2.0**-10, dtype=torch.float16, device=device)
        left[:, 0] = right[:, 0] = 1.0
        right[:, 1::2] *= torch.where(torch.arange(columns, device=device) % 2 == 0, 1.0, -1.0)[:, None]
        exact = left.to(torch.float64) @ right.to(torch.float64).T
        try:
            product = torch.mm(left, right.T, out_dtype=torch.float32)
        except (RuntimeError, TypeError):  # this version or device does not support it
            return False
        if not bool(((product.to(torch.float64) - exact).abs() <= (dim + 8) * 2.0**-24).all()):
            return False
    return True
