-- One row per case × metric × phase measured on either side of a comparison, and per case that failed without a number.
-- The same case means the same axes, the backend among them. A value is the median over a side's runs of their medians. Its
-- interval is made of all that varies, samples, processes, runs and sessions, seen or assumed (see `_case_noises` and
-- `_case_errors`), and one rule says what changed (see `_case_verdicts`). Without a base, each candidate is compared with earlier
-- runs of its own config and class of machine, the last `last` of those that measured the case.
--
-- arguments: base, candidate, floor := NULL, fdr := {fdr}, last := {window}, across := false
--
-- config            VARCHAR  Config of the candidate; NULL where the base is given.
-- host              VARCHAR  Its machine; NULL where the base is given or nobody said.
-- axes: case, value
-- metric            VARCHAR  What was measured; NULL for a case that failed and left no number on either side.
-- base_value        DOUBLE   Value of `base`, a list of run ids; NULL where it did not measure it, or its numbers do not
--                            count.
-- candidate_value   DOUBLE   Value of `candidate`, the list of run ids under judgement.
-- base_runs         BIGINT   Runs behind the value; NULL without one.
-- candidate_runs    BIGINT   The same of the candidate.
-- base_n            BIGINT   Samples in all of them.
-- candidate_n       BIGINT   The same of the candidate.
-- difference        DOUBLE   Candidate - base, in the unit.
-- ratio             DOUBLE   Above 1 is better: base / candidate where lower is better, candidate / base where higher is,
--                            or where neither is. NULL where a side is missing, or has no value above 0.
-- low               DOUBLE   Lower end of its 95 % interval.
-- high              DOUBLE   Upper end.
-- shift             DOUBLE   Ratio that all cases of the metric share, which is taken out before the case is judged; NULL of
--                            fewer than 20 cases (shared_shifts).
-- floor             DOUBLE   Smallest change that counts, as a fraction: the argument, else what the project's settings say of the
--                            metric and the case; NULL without numbers.
-- detectable        DOUBLE   Smallest change, as a fraction, that an error of this size would show four times in five.
-- noise             DOUBLE   Standard deviation of ln(value) from run to run, as used here; NULL unknown.
-- p                 DOUBLE   Probability of so large a difference, either way, if there were none; NULL where sessions are assumed.
-- q                 DOUBLE   Share of false alarms to expect if this row and all with a smaller p were called changed.
-- verdict           VARCHAR  FASTER or SLOWER (times and rates), BETTER or WORSE (all else): changed by the floor or more, with q within
--                            `fdr`. LIKELY before these: the interval excludes the floor, but how sessions differ was assumed, or
--                            chance does as much to some of so many cases. SAME: the whole interval lies within the floor.
--                            CHANGED: a count that differs, of which neither way is better. UNSURE: the interval holds both
--                            sides of the floor. ADDED, REMOVED: measured on one side only. BROKEN, FIXED: failed, wrong or
--                            skipped on one side only. NULL: not judged, as neither way is better or another statistic of the
--                            same samples is.
-- evidence          VARCHAR  Runs on each side, machines of the candidate, and whether its runs confirm each other.
-- reason            VARCHAR  Why, in one line.
-- base_status       VARCHAR  ok, or how the case failed in any run of the base, or its accuracy; NULL where that is not
--                            known.
-- candidate_status  VARCHAR  The same of the candidate.
-- is_headline       BOOLEAN  Whether the metric is the statistic of its measurement that is judged.
SELECT
    config, host, case_id, work_hash, {axes}, metric, phase,
    unit, better, base_value, candidate_value, base_runs, candidate_runs, base_n, candidate_n, difference, ratio, low, high, shift,
    judged.floor, detectable, noise, p, q, verdict, evidence, reason, base_status, candidate_status, is_headline
FROM _compared_cases(base, candidate, last, floor, fdr, across) AS judged
