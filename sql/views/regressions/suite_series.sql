-- One row per report × suite × mode × dtype × device × backend × number of it: suite_speedup (the geometric mean of the
-- speedups of passing cases), suite_pass_rate and suite_compile_time (the mean of passing cases).
-- A report that judged fewer than 5 cases of a suite and backend says no more than its cases do, and has no row for them; nor
-- has one of models that `--only` chose, where others of the config are whole.
--
-- config      VARCHAR    Config; together with case_id and metric it names the series.
-- case_id     VARCHAR    'suite/' and its name, mode, dtype, device and backend.
-- axes: panel, value
-- run_id      VARCHAR    Report: the id of its last run.
-- host        VARCHAR    Host of that run.
-- machine     VARCHAR    Class of machine of that run (see `machines`); NULL unknown.
-- machine_id  VARCHAR    Id of the class, else what is known of the machine (see _machine_facts).
-- began_at    TIMESTAMP  When the report began. UTC.
-- git_commit  VARCHAR    Commit it measured.
-- cases       BIGINT     Cases that the number is taken over.
-- value       DOUBLE     The number.
-- low         DOUBLE     Lower end of its 95 % interval within the run; NULL where there is none.
-- high        DOUBLE     Upper end.
WITH
suites AS (
    SELECT
        summary.*, host, machine, coalesce(class_id, machine_id) AS machine_id, concat_ws('/', 'suite', suite, mode, dtype, device, backend) AS case_id
    FROM _report_summaries AS summary
    JOIN _run_times AS run ON summary.run_id = run.run_id
    LEFT JOIN _machine_classes AS class ON machine_id = facts_id
    WHERE total >= 5 AND is_typical
),
numbers AS (
    SELECT
        *, 'suite_speedup' AS metric, NULL AS phase, 'ratio' AS unit, 'higher' AS better, n AS cases, speedup AS value,
        speedup * exp(-width) AS low, speedup * exp(width) AS high
    FROM suites
    UNION ALL
    SELECT *, 'suite_pass_rate', NULL, 'ratio', 'higher', total, passing / total, NULL, NULL
    FROM suites
    UNION ALL
    SELECT *, 'suite_compile_time', 'compile', 'ns', 'lower', n_compiled, mean_compile_ns, NULL, NULL
    FROM suites
)

SELECT
    config, case_id, suite, mode, dtype, device, backend, metric, phase, unit, better, run_id, host, machine, machine_id, began_at, git_commit, cases,
    value,
    low, high
FROM numbers
WHERE value IS NOT NULL
