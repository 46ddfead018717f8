-- One row per pair × run × case × metric × phase × unit of a comparison: what the run measured.
-- A case that failed has none. A base that is not given has every run that may count, of which `_side_values` takes the last.
--
-- arguments: base, candidate, last
--
-- pair         BIGINT   Number of the config and class of machine that are judged apart; 0 where the base is given.
-- side         VARCHAR  'base' or 'candidate'.
-- run_id       VARCHAR  Run.
-- place        BIGINT   Its place in time.
-- is_recent    BOOLEAN  Whether it counts whatever the others measured: it is given, or of one of the last `last` rounds of the base.
-- series_id    BIGINT   Case, metric, phase and unit in one (see _series_key).
-- case_id      VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session   BOOLEAN  Whether all candidates began within a day, and the base half a day or more before or after.
-- is_other_machine  BOOLEAN  Whether the sides of the pair are of different classes of machine; NULL where that is open (see _comparison_sides).
-- n            BIGINT   Samples.
-- value        DOUBLE   Their median.
-- minimum      DOUBLE   Smallest sample.
-- maximum      DOUBLE   Largest.
-- processes    BIGINT   Processes that measured it; NULL where nobody said.
-- sampling     DOUBLE   Variance of ln(value) as the run itself tells it; NULL for one sample (see _sampling_variance).
-- tokens       DOUBLE   Median tokens of the bin's scheduler steps; NULL of all else.
SELECT
    pair, side, run.run_id, place, is_recent, _series_key(cell.case_id, metric, phase, unit) AS series_id, cell.case_id, metric,
    phase, unit, better, is_session, is_other_machine, cell.n, median AS value, minimum, maximum, processes,
    _sampling_variance(median, median_low, median_high, stdev, cell.n, processes, process_spread) AS sampling, tokens
FROM _all_cells AS cell
JOIN (
    SELECT
        *, pair = 0 OR side = 'candidate' OR dense_rank() OVER (PARTITION BY pair, side ORDER BY round_place DESC) <= last AS is_recent
    FROM _comparison_sides(base, candidate, last)
) AS run ON cell.run_id = run.run_id
ANTI JOIN _failures AS failure ON cell.run_id = failure.run_id AND cell.case_id = failure.case_id AND failure.void
