"""The search for the commit that changed a number, where every run is noisy: a Bayesian change point over commits.

The model: commits 0 (good) to n (bad) in order, and either nothing changed, with the prior of `prior_of_nothing`, or one of
the commits 1 to n did, each equally likely before anything is measured. A run measures ln(value) = level of its machine +
effect, the effect from the changing commit on. Level, effect and noise are unknown and integrated out: the level is uniform
over what was seen, the effect Student's t of 3 degrees around 0 without what is smaller than the floor, and the logarithm of
the noise Student's t around 1 %. One run in BAD_RUNS may be off by any factor (Cauchy), so no single run decides.

Nothing is assumed of the form of the likelihood: it is tabulated on a grid of levels, one table a place and machine. Products
of tables on either side of a commit, correlated by FFT, give the likelihood of every effect at once. Measured places are few,
so a search over 10,000 commits costs what one over 100 does.

The change point model with its unknowns integrated out is that of Smith (Biometrika 62, 1975).
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEARCH_FLOOR = 0.01  # smallest effect that counts
BAD_RUNS = 0.05  # share of runs that may be off by any factor
LEVELS = 256  # points of the grid of levels
NOISES = 20  # points of the grid of noise
EFFECT = 0.1  # scale of the effect's prior: ln
EFFECT_DEGREES = 3
NOISE, NOISE_SPREAD = 0.01, 0.4  # median of the noise's prior, and the scale of its logarithm
FAR = 5.0  # scale of a bad run, in standard deviations of the others
STRAY = 3.0  # times the distance of the second farthest value: up to there the farthest one widens the grid
LEAST = 1e-5  # weight of a noise and split below which it is left out of predictions
GOOD_FAILS, BAD_FAILS = (1.0, 19.0), (3.0, 1.0)  # priors of how often a run fails before and after the change


@dataclass(frozen=True, slots=True)
class BisectRun:
    """One run of the commit at a place: ln(value), or whether it failed, in a search for failures."""

    place: int
    value: float
    host: str = ""


@dataclass(frozen=True, slots=True)
class ChangePosterior:
    """The posterior after some runs; arrays have an entry for each commit, 0 the good one."""

    probability: "Floats"  # that the commit changed it; entry 0: that nothing changed
    effect: float  # ln(after / before), median, given that something changed
    low: float  # its 95 % interval
    high: float
    noise: float  # standard deviation of ln(value) of a good run, median
    of: "NDArray[Any]"  # split of each commit: how many measured places lie before it
    good: "Floats"  # predictive densities of a run before the change, times the probability of the split: split × grid
    bad: "Floats"  # and of one after it
    same: "Floats"  # and of one where nothing changed, on the grid

    @property
    def nothing(self) -> float:
        """Probability that nothing changed."""
        return float(self.probability[0])


def posterior(
    runs: Sequence[BisectRun], commits: int, *, unchanged: Collection[int] = (), floor: float = SEARCH_FLOOR, host: str = "",
    nothing: float | None = None,
) -> ChangePosterior:  # fmt: skip
    """The posterior of the place of the change.

    Args:
        runs: What was measured.
        commits: Number of the bad commit; the good one is 0.
        unchanged: Commits that cannot have changed anything, such as those with the tree of the one before.
        floor: Smallest effect that counts, as a share.
        host: Machine for which to predict the next run.
        nothing: Prior that no commit changed anything; that of `prior_of_nothing` if left out.
    """
    import numpy as np

    places = np.array(sorted({run.place for run in runs}), dtype=int)
    prior = commit_prior(commits, unchanged, nothing)
    tables = _Tables(runs, places, floor)
    log_change, log_nothing = tables.evidence()
    of = np.searchsorted(places, np.arange(1, commits + 1))  # how many measured places lie before the commit
    weight = np.bincount(of, prior[1:], minlength=len(places) + 1)  # prior of every split of the measured places
    with np.errstate(divide="ignore"):
        joint = log_change + np.log(weight)[None, :, None]  # noise × split × effect
        unchanged_log = log_nothing + math.log(prior[0])  # noise
    top = max(joint.max(), unchanged_log.max())
    joint, none = np.exp(joint - top), np.exp(unchanged_log - top)
    total = joint.sum() + none.sum()
    joint, none = joint / total, none / total
    split = joint.sum(axis=(0, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(weight > 0, split / np.where(weight > 0, weight, 1), 0.0)
    probability = np.concatenate([[none.sum()], prior[1:] * share[of]])
    effects = np.asarray(joint.sum(axis=(0, 1)), dtype=np.float64)
    low, effect, high = _quantiles(tables.shifts, effects, (0.025, 0.5, 0.975))
    (noise,) = _quantiles(tables.noises, joint.sum(axis=(1, 2)) + none, (0.5,))
    return ChangePosterior(probability, effect, low, high, noise, of, *tables.predictive(joint, none, host))


def failing_posterior(
    runs: Sequence[BisectRun], commits: int, *, unchanged: Collection[int] = (), nothing: float | None = None
) -> ChangePosterior:  # fmt: skip
    """The posterior of the place where failures begin; their values are 1 for a failure and 0 for none.

    Before the change a run fails with an unknown probability, Beta(1, 19), after it with one of Beta(3, 1): a test may be flaky
    on either side.
    """
    import numpy as np

    places = np.array(sorted({run.place for run in runs}), dtype=int)
    prior = commit_prior(commits, unchanged, nothing)
    failures, passes = (
        np.concatenate(
            [[0], np.cumsum([sum((run.value > 0) == failed for run in runs if run.place == at) for at in places])]
        )
        for failed in (True, False)
    )
    before = _log_beta(failures, passes, *GOOD_FAILS)
    after = _log_beta(failures[-1] - failures, passes[-1] - passes, *BAD_FAILS)
    of = np.searchsorted(places, np.arange(1, commits + 1))
    with np.errstate(divide="ignore"):
        logs = np.log(prior) + np.concatenate([[before[-1]], (before + after)[of]])
    probability = np.exp(logs - logs.max())
    probability /= probability.sum()
    changed = np.bincount(of, probability[1:], minlength=len(before))
    good = (failures + GOOD_FAILS[0]) / (failures + passes + sum(GOOD_FAILS))
    left = failures[-1] - failures, passes[-1] - passes
    bad = (left[0] + BAD_FAILS[0]) / (left[0] + left[1] + sum(BAD_FAILS))
    sides = [np.stack([1 - fails, fails], axis=1) for fails in (good, bad)]
    before_it, after_it = (changed[:, None] * side for side in sides)
    nan = math.nan
    return ChangePosterior(probability, nan, nan, nan, nan, of, before_it, after_it, probability[0] * sides[0][-1])


def _log_beta(failures: "Floats", passes: "Floats", a: float, b: float) -> "Floats":
    """Logarithm of the probability of so many failures and passes in their order, with a Beta(a, b) prior."""
    import numpy as np

    def one(f: float, p: float) -> float:
        return sum(
            sign * math.lgamma(x)
            for sign, x in ((1, a + f), (1, b + p), (-1, a + b + f + p), (1, a + b), (-1, a), (-1, b))
        )

    return np.array([one(float(f), float(p)) for f, p in zip(failures, passes, strict=True)])


def prior_of_nothing(commits: int) -> float:
    """The prior that nothing changed: 2 in 3 for one commit, 1 in 5 for 256. The more commits, the likelier one changed it."""
    return 1 / (1 + math.log2(commits + 1) / 2)


def commit_prior(commits: int, unchanged: Collection[int] = (), nothing: float | None = None) -> "Floats":
    """Probabilities before anything is measured: of nothing at 0, and of every commit."""
    import numpy as np

    prior = np.ones(commits + 1)
    prior[[place for place in unchanged if 0 < place <= commits]] = 0.0
    share = 1 - (prior_of_nothing(commits) if nothing is None else nothing)
    prior[1:] *= share / max(1.0, prior[1:].sum())
    prior[0] = 1 - prior[1:].sum()
    return prior


class _Tables:
    """Log likelihoods of all runs of a place on a grid: host → noise × place × level."""

    def __init__(self, runs: Sequence[BisectRun], places: "NDArray[Any]", floor: float) -> None:
        import numpy as np

        values = np.array([run.value for run in runs])
        hosts = np.array([run.host for run in runs])
        # Machines have levels of their own: each is seen from the middle of its values, so that one grid does for all.
        for name in set(hosts.tolist()):
            values[hosts == name] -= np.median(values[hosts == name])
        *_, second, largest = 0.0, 0.0, *sorted(np.abs(values).tolist())
        reach = max(min(largest, STRAY * second), math.log1p(floor)) * 1.3
        values = np.clip(values, -reach, reach)  # how far off a single bad run is does not matter
        self.levels = np.linspace(-reach, reach, LEVELS)
        self.step = float(self.levels[1] - self.levels[0])
        self.noises = np.geomspace(self.step, max(reach, 4 * NOISE), NOISES)
        self.noise_prior = (1 + (np.log(self.noises / NOISE) / NOISE_SPREAD) ** 2 / 3) ** -2
        self.noise_prior /= self.noise_prior.sum()
        self.shifts = self.step * np.arange(-(LEVELS - 1), LEVELS)
        self.shift_prior = (1 + (self.shifts / EFFECT) ** 2 / EFFECT_DEGREES) ** (-(EFFECT_DEGREES + 1) / 2)
        self.shift_prior[np.abs(self.shifts) < math.log1p(floor)] = 0.0
        self.shift_prior /= self.shift_prior.sum()
        at = np.searchsorted(places, [run.place for run in runs])
        self.logs: dict[str, Floats] = {}
        for name in dict.fromkeys(run.host for run in runs):
            table = np.zeros((NOISES, len(places), LEVELS))
            own = np.flatnonzero(hosts == name)
            density = self._log_density(values[own])
            for place in set(at[own].tolist()):
                table[:, place] = density[:, at[own] == place].sum(axis=1)
            self.logs[name] = table
        self._shares: dict[str, tuple[Floats, Floats, Floats]] = {}

    def _log_density(self, values: "Floats") -> "Floats":
        """The log density of every value at every level and noise: noise × value × level."""
        import numpy as np

        away = (values[:, None] - self.levels)[None] / self.noises[:, None, None]
        usual = (1 - BAD_RUNS) / math.sqrt(2 * math.pi) * np.exp(-0.5 * away**2)
        bad = BAD_RUNS / (math.pi * FAR) / (1 + (away / FAR) ** 2)
        return np.log((usual + bad) / self.noises[:, None, None])

    def _sides(self, table: "Floats") -> tuple["Floats", "Floats", "Floats"]:
        """Likelihoods of what lies before and after each split, each scaled to at most 1, and the logarithm of the scale."""
        import numpy as np

        total = table.sum(axis=1, keepdims=True)
        before = np.concatenate([np.zeros_like(total), np.cumsum(table, axis=1)], axis=1)  # noise × split × level
        after = total - before
        tops = before.max(axis=2, keepdims=True), after.max(axis=2, keepdims=True)
        return np.exp(before - tops[0]), np.exp(after - tops[1]), (tops[0] + tops[1])[..., 0]

    def evidence(self) -> tuple["Floats", "Floats"]:
        """Log likelihoods with the priors of noise and effect: of a change, noise × split × effect, and of none, by noise."""
        import numpy as np

        with np.errstate(divide="ignore"):
            change = np.log(self.noise_prior)[:, None, None] + np.log(self.shift_prior)[None, None]
        nothing = np.log(self.noise_prior)
        for name, table in self.logs.items():
            before, after, scale = self._sides(table)
            by_shift = _correlated(before, after)
            self._shares[name] = before, after, by_shift
            with np.errstate(divide="ignore"):
                change = change + np.log(by_shift / LEVELS) + scale[..., None]
            total = table.sum(axis=1)
            top = total.max(axis=1, keepdims=True)
            nothing = nothing + np.log(np.exp(total - top).sum(axis=1) / LEVELS) + top[:, 0]
        return change, nothing

    def predictive(self, joint: "Floats", nothing: "Floats", host: str) -> tuple["Floats", "Floats", "Floats"]:
        """Densities of the next run of a host before the change, after it, and without one; the first two by split."""
        import numpy as np

        if host not in self._shares:
            flat = np.full(LEVELS, 1 / LEVELS)
            splits = joint.sum(axis=(0, 2))[:, None] * flat
            return splits, splits, nothing.sum() * flat
        at = np.nonzero(joint.sum(axis=2) > LEAST)
        before, after, by_shift = (table[at] for table in self._shares[host])
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(by_shift > 0, joint[at] / by_shift, 0.0)  # what all else says of the effect
        kernels = np.exp(self._log_density(np.zeros(1))[:, 0])
        good, bad = np.zeros((2, joint.shape[1], LEVELS))
        np.add.at(good, at[1], _spread(before * _shifted(after, left[..., ::-1]), kernels[at[0]]))
        np.add.at(bad, at[1], _spread(after * _shifted(before, left), kernels[at[0]]))
        total = self.logs[host].sum(axis=1)
        alone = np.exp(total - total.max(axis=1, keepdims=True))
        same = _spread(nothing[:, None] * alone / alone.sum(axis=1, keepdims=True), kernels)
        return good, bad, np.asarray(same.sum(axis=0))


def _correlated(before: "Floats", after: "Floats") -> "Floats":
    """The sum over levels of before(level) · after(level + shift), for every shift."""
    import numpy as np

    size = 2 * LEVELS
    spectrum = np.conj(np.fft.rfft(before, size)) * np.fft.rfft(after, size)
    found = np.fft.irfft(spectrum, size)
    return np.asarray(np.maximum(np.concatenate([found[..., -(LEVELS - 1) :], found[..., :LEVELS]], axis=-1), 0.0))


def _shifted(side: "Floats", shifts: "Floats") -> "Floats":
    """The sum over shifts of shifts(shift) · side(level - shift), for every level."""
    import numpy as np

    size = 3 * LEVELS
    found = np.fft.irfft(np.fft.rfft(side, size) * np.fft.rfft(shifts, size), size)
    return np.maximum(found[..., LEVELS - 1 : 2 * LEVELS - 1], 0.0)


def _spread(levels: "Floats", kernel: "Floats") -> "Floats":
    """Levels with the noise of a run around them; each keeps its sum."""
    import numpy as np

    size = 2 * LEVELS
    found = np.fft.irfft(np.fft.rfft(levels, size) * np.fft.rfft(kernel, size), size)
    found = np.maximum(found[:, LEVELS // 2 : LEVELS // 2 + LEVELS], 0.0)
    sums = levels.sum(axis=1, keepdims=True), found.sum(axis=1, keepdims=True)
    return np.asarray(found * (sums[0] / np.maximum(sums[1], 1e-300)))


def _quantiles(values: "NDArray[Any]", weights: "NDArray[Any]", shares: Sequence[float]) -> list[float]:
    import numpy as np

    sums = np.cumsum(weights)
    if not sums[-1] > 0:
        return [math.nan] * len(shares)
    return [float(values[np.searchsorted(sums, share * sums[-1])]) for share in shares]


@dataclass(frozen=True, slots=True)
class Bracket:
    """Commits that no run can tell apart, one or several in a row, and the probability that the change is among them."""

    first: int
    last: int
    probability: float


def brackets(probability: "Floats", unusable: Collection[int]) -> list[Bracket]:
    """The commits as runs can tell them apart: those whose own revision cannot be measured go with the ones after them."""
    sums, found, first = probability.tolist(), list[Bracket](), 1
    for place in range(1, len(sums)):
        if place not in unusable or place == len(sums) - 1:
            found.append(Bracket(first, place, math.fsum(sums[first : place + 1])))
            first = place + 1
    return found
