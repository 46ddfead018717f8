-- One row per pair × run × case × metric × phase of a comparison: the median of its samples, and how sure it is.
-- A case that failed has none. A base that is not given has the last `last` runs that measured the case.
--
-- arguments: base, candidate, last
--
-- pair           BIGINT   Number of the config and host that are judged apart; 0 where the base is given.
-- side           VARCHAR  'base' or 'candidate'.
-- run_id         VARCHAR  Run.
-- place          BIGINT   Its place in time.
-- case_id        VARCHAR  Case measured; NULL for a value of the run as a whole.
-- axes: value
-- is_session     BOOLEAN  Whether all candidates began within a day, and the base half a day or more before or after.
-- n              BIGINT   Samples.
-- value          DOUBLE   Their median.
-- x              DOUBLE   Its natural logarithm, of a count that of 1 + median; NULL where there is none.
-- sampling       DOUBLE   Variance of x as the samples tell it: from the 95 % interval of their median or, for fewer than 6,
--                         from their standard deviation (the median of normal samples varies π / 2 times as much as their
--                         mean); NULL for one sample.
WITH
run_medians AS (
    SELECT
        pair, side, run.run_id, place, cell.case_id, metric, phase, unit, better, is_session, cell.n, median AS value,
        CASE WHEN unit = 'count' AND median >= 0 THEN ln(1 + median) WHEN median > 0 THEN ln(median) END AS x,
        CASE
            WHEN median_low > 0 THEN pow((ln(median_high) - ln(median_low)) / (2 * 1.959963984540054::DOUBLE), 2)
            WHEN median > 0 THEN pi() / 2 * pow(stdev / median, 2) / cell.n
        END AS sampling,
        row_number() OVER (PARTITION BY pair, side, cell.case_id, metric, phase, unit ORDER BY place DESC) AS recency
    FROM _all_cells AS cell
    JOIN _comparison_sides(base, candidate, last) AS run ON cell.run_id = run.run_id
    ANTI JOIN _failures AS failure ON cell.run_id = failure.run_id AND cell.case_id = failure.case_id AND void
)

SELECT pair, side, run_id, place, case_id, metric, phase, unit, better, is_session, n, value, x, sampling
FROM run_medians
WHERE pair = 0 OR side = 'candidate' OR recency <= last
