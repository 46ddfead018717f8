"""False alarms and power of the rule of `compare` and `regressions`, in simulated worlds.

A night judges 400 series, of which runs vary by 1 to 5 % (logarithmically uniform) from series to series. 3 % of the runs of a
series hit a bad machine that adds 10 to 50 %, unless the world has none. A step, where there is one, moves 4 of the series: hardly
anything else that would lower the hurdle for them (Benjamini and Hochberg) is real. No rule can tell a bad machine from a
step by one run: alarms of a single run are counted without those.

Beside what is missed stands what an oracle misses, which knows the level, the shift and the noise of every series and has but
the judged run to doubt: the same test and hurdle, without anything estimated.
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import duckdb
import numpy as np
from bench import sql
from bench.query.regression.regressions import RegressionRule
from bench.sql.rules import FLOOR
from scipy import special, stats

from ..figures import Figures

NIGHTS, SERIES, STEPPING = 150, 400, 4
RULE = RegressionRule()

Array = np.ndarray[Any, np.dtype[Any]]


class World(NamedTuple):
    """What nights are like, and the bars of their figures: false alarms a night, and shares of steps that must be found."""

    name: str
    before: int
    now: int = 1
    series: int = SERIES
    noise: tuple[float, float] = (0.01, 0.05)  # smallest and largest standard deviation of ln(value) from run to run
    bad: float = 0.0  # share of runs on a bad machine
    night: float = 0.0  # shift of all series in the judged runs
    correlation: float = 0.0  # between the judged runs
    confirming: bool = False  # whether the second run measures only what the first calls worse
    drift: float = 0.0  # standard deviation of what all series of a run share
    since: int = 0  # of the runs before, the last so many have the step as well
    shape: str = (
        "normal"  # of the noise: or uniform, heavy-tailed (Student's t of 4 degrees), none, or rare (one run in ten)
    )
    false: float = 0.5
    found: tuple[tuple[float, float], ...] = ((0.25, 0.0),)  # step -> least share in percent


WORLDS = (
    World("20 runs before, one now", 20, bad=0.03, found=((0.05, 10), (0.1, 55), (0.25, 96))),
    World("20 runs before, two now", 20, 2, bad=0.03, found=((0.05, 8), (0.1, 55), (0.25, 97))),
    World("20 runs before, one confirming", 20, 2, bad=0.03, confirming=True, found=((0.1, 25), (0.25, 90))),
    World("2 runs before", 2, found=((0.25, 95),)),
    World("3 runs before", 3, found=((0.25, 88),)),
    World("5 runs before", 5, found=((0.25, 85),)),
    World("a bad night of +10 %, 5 runs before", 5, night=np.log(1.1), false=0.1, found=((0.25, 85),)),
    World("a bad night of +10 %, 20 runs before", 20, night=np.log(1.1), false=0.1, found=((0.25, 90),)),
    *(
        World(f"{before} runs before, two now, correlation {correlation}", before, 2, correlation=correlation)
        for before in (2, 5, 20)
        for correlation in (0.0, 0.3, 0.6, 0.9)
    ),
    *(
        World(f"one run a side, noise {noise:.0%}", 1, noise=(noise, noise), false=8.0)  # likely ones, 2 % of the cases
        for noise in (0.01, 0.02, 0.03, 0.05)
    ),
    World("one run a side, 155 cases", 1, series=155, false=3.1),
    World("one run a side, 20 cases, noise 1 to 3 %", 1, series=20, noise=(0.01, 0.03), false=0.4, found=((0.25, 95),)),
    World("one run a side, 20 cases", 1, series=20, false=0.4),
    World("three runs a side, 20 cases", 3, 3, series=20, false=0.1, found=((0.1, 30), (0.25, 93))),
    World("two runs a side, 5 cases", 2, 2, series=5, false=0.1, found=((0.25, 95),)),
    *(World(f"{before} runs before, uniform noise", before, shape="uniform") for before in (2, 5, 20)),
    # as with bad machines, one run far out cannot be told from a step; another run tells
    *(World(f"{before} runs before, heavy-tailed noise", before, shape="heavy-tailed", false=1.5) for before in (2, 5)),
    World("20 runs before, heavy-tailed noise", 20, shape="heavy-tailed", false=4.5),
    World(
        "20 runs before, heavy-tailed noise, one confirming", 20, 2, shape="heavy-tailed", confirming=True, false=0.5
    ),
    World("20 runs before, the last one as well", 20, since=1, bad=0.03, found=((0.25, 88),)),
    World("20 runs before, the last four as well", 20, since=4, bad=0.03, found=((0.25, 60),)),
    *(
        World(
            f"{before} runs before, equal but for bad machines, the last {since} as well", before, since=since, bad=0.03,
            shape="none", found=((0.05, found), (0.25, found)),
        )
        for before, since, found in ((5, 0, 80), (5, 1, 80), (20, 0, 50), (20, 1, 50), (20, 4, 50))
    ),
    World("20 runs before, one in ten another number", 20, noise=(0.1, 0.1), shape="rare", false=8, found=()),
)  # fmt: skip
DRIFTS = tuple(
    World(
        f"{before} runs before, machine {drift:.1%} apart from night to night", before, drift=drift,
        false=8.0 if before == 1 else 0.5,  # of one run a side likely ones, 2 % of the cases
    )
    for before in (1, 2, 5, 20)
    for drift in (0.0, 0.005, 0.02, 0.05)
)  # fmt: skip
FAILING = (
    World("one run a side, 155 cases", 1, series=155),
    World("5 runs before, 155 cases", 5, series=155),
    World("20 runs before, 155 cases, machine 0.5% apart from night to night", 20, series=155, drift=0.005),
)
SUITES = (  # 60 numbers: of 3 suites, 2 modes, 10 backends
    World("60 suites, 2 runs before", 2, series=60, noise=(0.002, 0.03), found=()),
    World("60 suites, 5 runs before", 5, series=60, noise=(0.002, 0.03), found=((0.25, 90),)),
    World("60 suites, 20 runs before", 20, series=60, noise=(0.002, 0.03), found=((0.05, 55), (0.1, 85))),
    World("60 suites, 5 runs before, noise of 3%", 5, series=60, noise=(0.03, 0.03), found=()),
    World("60 suites, 20 runs before, noise of 3%", 20, series=60, noise=(0.03, 0.03), found=((0.25, 95),)),
    World(
        "60 suites, 20 runs before, heavy-tailed noise",
        20,
        series=60,
        noise=(0.002, 0.02),
        shape="heavy-tailed",
        found=(),
    ),
)
# percent of quiet nights; one report far out cannot be told from a step
MOST_NAMED = {"normal": 5.0, "heavy-tailed": 15.0}
QUIET_NIGHTS = 400
# percent of nights without a change that say all cases moved, and that end with 1
MOST_SHIFTED, MOST_FAILING = (5.0, 5.0)


def measure(figures: Figures) -> None:
    """Alarms of each world in a night without a change, and what it misses of steps, in percent."""
    for world in WORLDS:
        false = study(world, 0.0)
        figures.add(f"false alarms, {world.name}", false, "a night", most=world.false)
        for step, least in world.found:
            missed, reference = 100 - study(world, step), 100 - study(world, step, rule=oracle)
            figures.add(
                f"missed at +{step:.0%}, {world.name}",
                missed,
                "%",
                reference=reference,
                against="oracle",
                most=100 - least,
            )
    for world in DRIFTS:
        figures.add(f"nights called shifted, {world.name}", shifted(world, 0), "%", most=MOST_SHIFTED)
        figures.add(f"shifts of +10% missed, {world.name}", 100 - shifted(world, 0.1), "%")
        figures.add(f"false alarms, {world.name}", study(world, 0), "a night", most=world.false)
    study_suites(figures)
    for world in FAILING:
        figures.add(f"quiet nights that fail, {world.name}", failing(world), "%", most=MOST_FAILING)


def study_suites(figures: Figures) -> None:
    """How often `suite_shifts` names a suite that did not move, and misses one that did."""
    for world in SUITES:
        figures.add(
            f"quiet nights that name a suite, {world.name}", suites_named(world), "%", most=MOST_NAMED[world.shape]
        )
        for step, least in world.found:
            figures.add(
                f"suites missed at {step:.0%}, {world.name}", 100 - suites_named(world, step), "%", most=100 - least
            )


def suites_named(world: World, step: float = 0.0) -> float:
    """Percent of nights that name any suite; with a step in the first, percent of nights that name it."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(QUIET_NIGHTS):
        night = simulate(rng, world)
        night.now[:, 0] += np.log1p(step)
        called = judge_suites(night.history, night.now.mean(axis=0)).called
        named += bool(called[0] if step else called.any())
    return 100 * named / QUIET_NIGHTS


def shifted(world: World, step: float) -> float:
    """Percent of nights that call a shift of all series, where there is one of this size."""
    rng, called = np.random.default_rng(1), 0
    for _ in range(QUIET_NIGHTS):
        night = simulate(rng, world)
        called += judge_shift(np.exp(night.history), np.exp(night.now + np.log1p(step))).called
    return 100 * called / QUIET_NIGHTS


def failing(world: World) -> float:
    """Percent of nights without a change that call a series or all of them slower, which is exit code 1."""
    rng, failed = np.random.default_rng(1), 0
    for _ in range(QUIET_NIGHTS):
        night = simulate(rng, world)
        found, together = by_rule(world, night, night.now), judge_shift(np.exp(night.history), np.exp(night.now))
        failed += bool((found.called & (found.change > 0)).any()) or (together.called and together.shift > 0)
    return 100 * failed / QUIET_NIGHTS


def study(world: World, step: float, nights: int = NIGHTS, rule: "Rule | None" = None) -> float:
    """False alarms a night without a step; with one, the share of it that is found, in percent."""
    rng, counts, rule = np.random.default_rng(1), [], rule or by_rule
    for _ in range(nights):
        night = simulate(rng, world)
        for runs in (night.now, night.history[world.before - world.since :]):
            runs[:, : max(1, STEPPING * world.series // SERIES)] += np.log1p(step)
        found = rule(world, night, night.now[:1] if world.confirming else night.now)
        alarms = found.called | found.likely if world.before == world.now == 1 else found.called
        if world.confirming:
            doubtful = found.called & (found.change > 0)
            again = rule(world, night, np.stack([night.now[0], np.where(doubtful, night.now[1], np.nan)]))
            alarms = doubtful & again.called
        if step:
            counts.append(
                100 * float((alarms & (found.change > 0))[: max(1, STEPPING * world.series // SERIES)].mean())
            )
        else:
            counts.append(float((alarms & ~night.bad if world.now == 1 else alarms).sum()))
    return float(np.mean(counts))


class Night(NamedTuple):
    """Logs of medians, runs × series, of which the true level is 0."""

    history: Array
    now: Array
    bad: Array  # which series had a bad machine now
    noise: Array  # standard deviation of each series


def simulate(rng: np.random.Generator, world: World) -> Night:
    """A night without a step."""
    least, most = np.log(world.noise).tolist()
    noise = np.exp(rng.uniform(least, most, world.series))
    shared = rng.normal(0, 1, world.series) * np.sqrt(world.correlation)
    history = _draws(rng, world.shape, (world.before, world.series)) * noise
    own = _draws(rng, world.shape, (world.now, world.series))
    now = (shared + own * np.sqrt(1 - world.correlation)) * noise + world.night
    for runs in (history, now):
        runs += rng.normal(0, 1, (len(runs), 1)) * world.drift
        bad = rng.random(runs.shape) < world.bad
        runs += np.where(bad, np.log1p(rng.uniform(0.1, 0.5, runs.shape)), 0)
    return Night(history, now, np.asarray(bad.any(axis=0)), noise)


def _draws(rng: np.random.Generator, shape: str, size: tuple[int, int]) -> Array:
    """Values of mean 0 and variance 1; of noise that is none or rare what it says."""
    match shape:
        case "uniform":
            return np.asarray(rng.uniform(-1, 1, size) * np.sqrt(3))
        case "heavy-tailed":
            return np.asarray(rng.standard_t(4, size) / np.sqrt(2))
        case "none":
            return np.zeros(size)
        case "rare":
            return (rng.random(size) < 0.1) * 1.0
    return rng.normal(0, 1, size)


class Judgement(NamedTuple):
    """What `judge` says of each series."""

    change: Array  # effect that is tested
    noise: Array
    p: Array
    q: Array
    called: Array  # changed
    likely: Array  # not called, but the interval excludes the floor
    low: Array  # lower end of the 95 % interval of the change
    high: Array


Rule = Callable[[World, Night, Array], Judgement]


def by_rule(world: World, night: Night, now: Array) -> Judgement:
    """What the rule says of the judged runs."""
    return judge(np.exp(night.history), np.exp(now))


def oracle(world: World, night: Night, now: Array) -> Judgement:
    """What can be said by whoever knows level, shift and noise of every series."""
    runs = (~np.isnan(now)).sum(axis=0)
    change = np.nanmean(now, axis=0) - world.night
    error = night.noise * np.sqrt(world.correlation + (1 - world.correlation) / runs)
    p = 2 * stats.norm.sf(np.abs(change) / error)
    return _called(change, night.noise, p, RULE)


class SharedShift(NamedTuple):
    """What `judge_shift` says of a night."""

    shift: float
    p: float
    called: bool


def judge_shift(base: Array, candidate: Array, rule: RegressionRule = RULE) -> SharedShift:
    """The macro `shared_shifts` once more, for one metric of 20 series or more; a test holds the two together."""
    levels = [np.log(np.nanmedian(runs, axis=0)) for runs in (base, candidate)]
    effect = levels[1] - levels[0]
    shift, medians, degrees = float(np.median(effect)), list[float](), 0
    for runs, level in zip((base, candidate), levels, strict=True):
        several = (~np.isnan(runs)).sum(axis=0) > 1
        if several.any():
            medians += [_run_shift(run) for run in np.log(runs[:, several]) - level[several]]
            degrees += len(runs) - 1
    variance = (3 * 0.02**2 + (np.array(medians) ** 2).sum()) / (3 + degrees)
    between = (1.4826 * np.median(np.abs(effect - shift))) ** 2
    error = np.sqrt(variance * (1 + _of_median(len(base))) + between * _of_median(len(effect)))
    p = 2 * float(stats.t.sf(abs(shift) / error, 3 + degrees))
    return SharedShift(shift, p, p <= rule.fdr / 5 and abs(shift) >= np.log1p(FLOOR))


def judge_suites(base: Array, candidate: Array, prior: float = 0.02) -> Judgement:
    """The macro `suite_shifts` once more, for numbers of one prior; a test holds the two together.

    Args:
        base: Logs of the numbers, reports × suites.
        candidate: Their means in the judged reports.
        prior: Standard deviation that counts as 3 degrees of freedom.
    """
    level, degrees = np.median(base, axis=0), len(base) + 2
    change = candidate - level
    squares = (base - level) ** 2
    most = 6.25 * np.maximum(prior**2, 1.4826**2 * np.median(squares, axis=0))
    noise = np.sqrt((3 * prior**2 + np.minimum(squares, most).sum(axis=0) / 0.9776) / degrees)
    p = 2 * stats.t.sf(np.abs(change) / noise / np.sqrt(1 + _of_median(len(base))), degrees)
    return _called(change, noise, p, RegressionRule(fdr=RULE.fdr / 2))


def judge(
    base: Array,
    candidate: Array,
    rule: RegressionRule = RULE,
    *,
    is_history: bool = True,
    is_session: bool = True,
    processes: float | None = None,
    counted: int = 3,
    sampling: float = 0.0,
) -> Judgement:
    """The macro `_case_verdicts` once more, for one metric; a test holds the two together.

    Args:
        base: Medians, runs × series, the oldest first.
        candidate: Medians of the judged runs, runs × series; NaN where one did not measure a series.
        rule: Its parameters.
        is_history: Whether the base is the runs before the candidate, of which the last may be as it is.
        is_session: Whether the candidate runs are of one half day, and the base is of other days.
        processes: Half of the 95 % interval that several processes of each of two runs tell; None: nobody counted any.
        counted: How many these are.
        sampling: Variance of the logarithm of a run's median as its processes tell it, where runs tell the noise.
    """
    base, candidate = np.log(base), np.log(candidate)
    series, n, m = base.shape[1], len(base), (~np.isnan(candidate)).sum(axis=0)
    many = series >= 20
    level = np.log(np.median(np.exp(base), axis=0))
    now = np.log(np.nanmedian(np.exp(candidate), axis=0))
    effect = now - level
    shift = np.median(effect) if many else 0.0
    # of sides with two runs or more
    raw = np.concatenate([np.where(n > 1, base - level, np.nan), np.where(m > 1, candidate - now, np.nan)])
    deviations = raw - np.array([_run_shift(run) for run in raw])[:, None]
    ranked = _rank_p(deviations[:n], deviations[n:] + effect - shift)
    distances = np.abs(base - level)
    even = (np.median(distances, axis=0) == 0) & (n > 1)
    beyond = (base - level) * np.sign(effect) >= np.maximum(np.log1p(FLOOR), np.abs(effect) / 2)
    streak = np.cumprod(beyond[::-1], axis=0)[::-1].astype(bool) & even & is_history
    deviations[:n][streak] = np.nan
    own, degrees = _own_variances(deviations, (n - 1) + np.maximum(m - 1, 0) - streak.sum(axis=0), FLOOR)
    if not degrees.any():
        return _assumed(effect - shift, processes, counted, shift)
    variance, degrees = _moderated(own, degrees)
    with np.errstate(invalid="ignore", divide="ignore"):
        repeats = np.where(m > 1, np.nansum(deviations[n:] ** 2, axis=0) / (m - 1), np.nan)
        share = repeats / variance / (1 - 2 / (9 * (m - 1))) ** 3
    known = share[m > 1]
    correlation = max(0.0, 1 - min(1.0, float(np.median(known)))) if len(known) >= 20 else 1.0
    correlations = np.where((m > 1) & is_session, correlation, 0)
    error = np.sqrt(
        np.maximum(variance, sampling)
        * (_of_median(n) + correlations + (1 - correlations) * _of_median(m) + (_of_median(series) if many else 0))
    )
    if many:
        error = error * max(1, np.median(1.4826 * np.abs(effect - shift) / error / (1 + 0.4 / degrees)))
    least, most = np.nanmin(candidate, axis=0) - level, np.nanmax(candidate, axis=0) - level
    nearest = np.where(least > shift, least - shift, np.where(most < shift, most - shift, 0))
    change = np.where((m < 2) | (not is_session) | (most - least <= 3 * np.sqrt(2 * variance)), effect - shift, nearest)
    degrees = np.maximum(degrees, 1)
    reach = stats.t.ppf(0.975, degrees) * error
    tied = ((distances >= np.abs(effect)) & ~streak).sum(axis=0) / (n - streak.sum(axis=0))
    tied = np.maximum(np.where(even, tied, 0), ranked)
    p = np.maximum(2 * stats.t.sf(np.abs(change) / error, degrees), tied)
    low, high = np.minimum(effect - shift, change) - reach, np.maximum(effect - shift, change) + reach
    low, high = np.where(tied > rule.fdr, np.minimum(low, 0), low), np.where(tied > rule.fdr, np.maximum(high, 0), high)
    found = _called(change, np.sqrt(variance), p, rule, _shown(low, high, shift))
    return found._replace(low=low, high=high)


def _rank_p(base: Array, candidate: Array) -> Array:
    """The macro `_rank_p` of each series, runs × series; 0 where a side has fewer than 4 runs."""
    ps = np.zeros(base.shape[1])
    for series, (xs, ys) in enumerate(zip(base.T, candidate.T, strict=True)):
        xs, ys = xs[~np.isnan(xs)], ys[~np.isnan(ys)]
        pairs = len(xs) * len(ys)
        above = ((1 + np.sign(np.subtract.outer(ys, xs))) / 2).sum()
        if min(len(xs), len(ys)) >= 4 and 0 < above < pairs:
            error = np.sqrt(pairs * (len(xs) + len(ys) + 1) / 12)
            ps[series] = min(1, 2 * stats.norm.sf((abs(pairs / 2 - above) - 0.5) / error))
    return ps


def _shown(low: Array, high: Array, shift: float) -> tuple[Array, Array]:
    """The interval with what all series share, too, if that is less than the floor."""
    small = shift if abs(shift) < np.log1p(FLOOR) else 0.0
    return low + min(small, 0), high + max(small, 0)


def _called(
    change: Array, noise: Array, p: Array, rule: RegressionRule, interval: tuple[Array, Array] | None = None
) -> Judgement:
    """What is called, and what is likely by q or by its interval, if there is one."""
    low, high = interval or (np.full(len(p), -np.inf), np.full(len(p), np.inf))
    q, floor, nearest = stats.false_discovery_control(p), np.log1p(FLOOR), np.maximum(low, -high)
    large = (np.abs(change) >= floor) & ((nearest > 0) | (interval is None))
    called, likely = (q <= rule.fdr) & large, (nearest > floor) | (q <= 3 * rule.fdr) & large
    return Judgement(change, noise, p, q, called, ~called & likely, low, high)


@functools.cache
def assumed_reach(metric: str, phase: str | None, unit: str, processes: int | None = None) -> float:
    """What the macro `_assumed_reach` says of a metric."""
    body = sql.views()["_assumed_reach"].body
    query = f"SELECT {body} FROM (SELECT ? AS metric, ?::VARCHAR AS phase, ? AS unit, ?::BIGINT AS processes)"
    ((reach,),) = duckdb.execute(query, [metric, phase, unit, processes]).fetchall()
    return float(reach)


def _assumed(change: Array, processes: float | None, counted: int, shift: float) -> Judgement:
    """One run a side and no history: how sessions differ is assumed, so that nothing is more than likely without processes."""
    assumed, floor, cases = assumed_reach("latency", "steady", "ns"), np.log1p(FLOOR), len(change)
    spread, most = _cases_reach(change) if cases >= 8 else 0.0, 2.5 * assumed
    session = max(assumed, min(spread, most) if processes is None or spread <= 2 * most else 0.0)
    sure = max(assumed_reach("latency", "steady", "ns", counted), min(1.4 * spread, 2 * most))
    far, reach, surely = np.abs(change), np.hypot(session, processes or 0), np.hypot(sure, processes or 0)
    low, high = _shown(change - reach, change + reach, shift)
    nearest = np.maximum(low, -high)
    called, likely = np.zeros(cases, dtype=bool), nearest > floor
    if processes is not None:
        likely |= (nearest > 0) & (far > floor) & (spread <= assumed)
        called = likely & (far - surely > floor)
    unknown = np.full(cases, np.nan)
    return Judgement(change, unknown, unknown, unknown, called, likely & ~called, change - reach, change + reach)


def _cases_reach(change: Array) -> float:
    """How far cases differ from one another where most did not change, half of a 95 % interval."""
    cases, ordered = len(change), np.sort(change)
    half = (cases + 1) // 2
    widths = ordered[half - 1 :] - ordered[: cases - half + 1]
    first = int(np.argmin(widths))
    distances = np.abs(change - ordered[first] - widths[first] / 2)
    usual = 1.4826 * (1 + 4 / cases) * widths[first] / 2
    spread = 1.52 * np.median(distances[distances <= 2.5 * usual])
    return float(stats.t.ppf(0.975, 0.3 * (cases - 1)) * spread)


def _run_shift(deviations: Array) -> float:
    """What all series of a run share; nothing that few could tell."""
    return float(np.nanmedian(deviations)) if (~np.isnan(deviations)).sum() >= 20 else 0.0


def _of_median(runs: Any) -> Any:
    return (np.pi / 2) / (runs + np.pi / 2 - 1)


def _own_variances(deviations: Array, degrees: Array, floor: float) -> tuple[Array, Array]:
    """Variance of each series by its own runs, winsorised; NaN where there is none."""
    if not degrees.any():
        return np.full(len(degrees), np.nan), degrees
    distances = np.where(degrees > 0, np.abs(deviations), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a series without runs has no median
        usual = (1.4826 * np.nanmedian(distances, axis=0)) ** 2 * (~np.isnan(distances)).sum(axis=0) / degrees
        usual = np.maximum(usual, (0.37 * degrees * usual + 4 * np.nanmedian(usual)) / (0.37 * degrees + 4))
        most = np.where(usual > 0, 6.25 * usual, np.inf)
        own = np.nansum(np.minimum(distances**2, most), axis=0) / 0.9776 / degrees
    return np.maximum(own, (floor / 10) ** 2), degrees


def _moderated(own: Array, degrees: Array) -> tuple[Array, Array]:
    """Variances and their degrees of freedom, moderated by those of all series."""
    known = degrees > 0
    logs = np.log(own[known]) - special.digamma(degrees[known] / 2) + np.log(degrees[known] / 2)
    chance = special.polygamma(1, degrees[known] / 2)
    excess = max(logs.var(ddof=1) - chance.mean(), 0) if len(logs) > 1 else 0
    doubt = (2 + 4 / degrees[known].mean()) * chance.mean() ** 2 / len(logs)
    difference = (0.1 * excess + 0.3 * doubt) / (0.1 + doubt)
    prior = np.minimum((1 + np.sqrt(1 + 2 * difference)) / difference, degrees.sum() - degrees)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = np.where(prior > 0, np.exp(logs.mean() + special.digamma(prior / 2) - np.log(prior / 2)), 0)
    return (prior * pooled + np.where(known, degrees * own, 0)) / (prior + degrees), prior + degrees
