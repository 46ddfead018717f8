-- One row per config × case of a serving benchmark: the share of its requests within limits, against its load.
-- The load is what the client sent, requests a second, by the clock of the benchmark. Limits in ms and intervals are those of
-- `serving_metrics`: by blocks of time, or by runs where a config has several of a case.
--
-- arguments: ttft := NULL, tpot := NULL, e2e := NULL, configs := NULL, runs := NULL
--
-- config      VARCHAR  Config.
-- case_id     VARCHAR  Case: the model with its load and settings.
-- name        VARCHAR  Model.
-- backend     VARCHAR  Engine.
-- parameters  JSON     Load and settings.
-- load        DOUBLE   Requests sent a second.
-- share_met   DOUBLE   Share of the requests within all limits, 0 to 1.
-- share_low   DOUBLE   Lower end of its 95 % interval, at least 0; NULL where nothing tells it.
-- share_high  DOUBLE   Upper end, at most 1.
-- goodput     DOUBLE   Requests a second within the limits.
-- n_runs      BIGINT   Runs.
-- requests    BIGINT   Requests.
-- units       VARCHAR  What the interval is over, 'blocks' or 'runs'.
WITH
measured AS (FROM serving_metrics(ttft := ttft, tpot := tpot, e2e := e2e, configs := configs, runs := runs))

SELECT
    met.config, met.case_id, met.name, met.backend, met.parameters, sent.value AS load, met.value AS share_met,
    CASE WHEN met.low IS NOT NULL THEN greatest(met.low, 0) END AS share_low,
    CASE WHEN met.high IS NOT NULL THEN least(met.high, 1) END AS share_high, good.value AS goodput, met.n_runs, met.requests, met.units
FROM measured AS met
JOIN measured AS sent ON met.config = sent.config AND met.case_id = sent.case_id
JOIN measured AS good ON met.config = good.config AND met.case_id = good.case_id
WHERE met.metric = 'share_met' AND sent.metric = 'request_rate' AND good.metric = 'goodput'
