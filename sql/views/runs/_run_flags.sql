-- One row per run whose workers said what is set in torch's compilers: all that is not torch's default.
--
-- run_id  VARCHAR  Run.
-- flags   VARCHAR  Settings as a JSON object of texts, such as dynamo.recompile_limit; {} where all are the defaults, NULL
--                  where it is no such object.
SELECT
    run_id,
    min(CASE
        WHEN regexp_matches(
            original_value,
            '^\{("([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*": "([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"(, "([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*": "([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*")*)?\}$'
        ) THEN original_value
    END) AS flags
FROM metrics
WHERE metric = 'compiler_flags'
GROUP BY run_id
