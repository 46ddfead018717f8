-- One row per fact that any of these runs knows of its environment: what the two sides say of it.
-- Facts are the columns of `environments`, every key of its JSON columns, and what the run itself says of its host, code,
-- command and tags. What a run has not recorded is NULL, and so is an environment variable or a flag that was not set. What
-- bench doctor found on the host nearest in time to a run is compared where it looked at the hosts of all runs: texts, and of
-- checks that measure whether there is something to cure.
--
-- arguments: base, candidate
--
-- kind              VARCHAR    machine, software, flags, variables, extra, code, call, tags or doctor.
-- field             VARCHAR    Column, key of the JSON column named by `kind`, or check of the doctor.
-- base_values       VARCHAR[]  Distinct values of the runs in `base`, a list of run ids, in order; NULL last, for runs
--                              without one.
-- candidate_values  VARCHAR[]  Distinct values of the runs in `candidate`.
-- same              BOOLEAN    Whether both sides have the same values.
WITH
run AS (
    SELECT
        record.*, source, suite, list_contains(base, record.run_id) AS in_base, list_contains(candidate, record.run_id) AS in_candidate
    FROM _run_records AS record
    JOIN run_summaries AS summary ON record.run_id = summary.run_id
    WHERE list_contains(base, record.run_id) OR list_contains(candidate, record.run_id)
),
environment AS (SELECT DISTINCT ON (environment_id) * FROM environments ORDER BY environment_id),
run_facts AS (
    SELECT
        run.run_id,
        [
            {'kind': 'machine', 'field': 'host', 'value': host},
            {'kind': 'machine', 'field': 'cpu', 'value': cpu},
            {'kind': 'machine', 'field': 'logical_cores', 'value': logical_cores::VARCHAR},
            {'kind': 'machine', 'field': 'physical_cores', 'value': physical_cores::VARCHAR},
            {'kind': 'machine', 'field': 'governor', 'value': governor},
            {'kind': 'machine', 'field': 'ram_bytes', 'value': ram_bytes::VARCHAR},
            {'kind': 'machine', 'field': 'gpus', 'value': array_to_string(gpus, ', ')},
            {'kind': 'machine', 'field': 'architecture', 'value': architecture},
            {'kind': 'software', 'field': 'driver', 'value': driver},
            {'kind': 'software', 'field': 'os', 'value': os},
            {'kind': 'software', 'field': 'python', 'value': python},
            {'kind': 'software', 'field': 'torch', 'value': torch},
            {'kind': 'software', 'field': 'bench_version', 'value': bench_version},
            {'kind': 'code', 'field': 'git_commit', 'value': git_commit},
            {'kind': 'code', 'field': 'git_branch', 'value': git_branch},
            {'kind': 'code', 'field': 'git_dirty', 'value': git_dirty::VARCHAR},
            {'kind': 'call', 'field': 'command', 'value': command},
            {'kind': 'call', 'field': 'source', 'value': source},
            {'kind': 'call', 'field': 'suite', 'value': suite}
        ] AS columns,
        [
            {'kind': 'software', 'object': packages},
            {'kind': 'flags', 'object': coalesce(environment.flags, set_flags.flags)},
            {'kind': 'variables', 'object': variables},
            {'kind': 'extra', 'object': extra},
            {'kind': 'tags', 'object': tags}
        ] AS objects
    FROM run
    LEFT JOIN environment USING (environment_id)
    LEFT JOIN _run_flags AS set_flags ON run.run_id = set_flags.run_id
),
entries AS (  -- what is no object, or has a key twice, stays one fact
    SELECT
        run_id, json.kind AS kind,
        unnest(coalesce(
            map_entries(TRY_CAST(json.object AS MAP(VARCHAR, VARCHAR))),
            [{'key': json.kind, 'value': json_extract_string(json.object, '$')}]
        )) AS entry
    FROM (SELECT run_id, unnest(objects) AS json FROM run_facts)
    WHERE json.object IS NOT NULL
),
doctors AS (
    SELECT
        run.run_id, arg_min(doctor.run_id, abs(epoch_us(doctor.started_at)::DOUBLE - epoch_us(run.started_at))) AS doctor_id,
        count(*) OVER () AS doctors_known, min(runs) AS runs
    FROM run
    CROSS JOIN (SELECT count(*) AS runs FROM run) AS counted
    JOIN runs AS doctor ON run.host = doctor.host AND doctor.source = 'doctor'
    WHERE run.source <> 'doctor'
    GROUP BY run.run_id
),
facts AS (
    SELECT run_id, fact.kind AS kind, fact.field AS field, fact.value AS value
    FROM (SELECT run_id, unnest(columns) AS fact FROM run_facts)
    UNION ALL
    SELECT run_id, kind, entry.key, coalesce(entry.value, 'null') FROM entries
    UNION ALL
    SELECT doctors.run_id, 'doctor', name, CASE WHEN measured.case_id IS NULL THEN outcome.reason ELSE outcome.status END
    FROM doctors
    JOIN outcomes AS outcome ON doctor_id = outcome.run_id
    JOIN cases AS of_doctor ON outcome.run_id = of_doctor.run_id AND outcome.case_id = of_doctor.case_id
    LEFT JOIN (SELECT DISTINCT run_id, case_id FROM metrics WHERE run_id IN (SELECT doctor_id FROM doctors)) AS measured
        ON outcome.run_id = measured.run_id AND outcome.case_id = measured.case_id
    WHERE doctors_known = runs AND name NOT IN ('identical', 'fonts')
),
fields AS (SELECT DISTINCT kind, field FROM facts WHERE value IS NOT NULL),
grid AS (
    SELECT kind, field, value, bool_or(in_base) AS in_base, bool_or(in_candidate) AS in_candidate
    FROM fields
    CROSS JOIN run
    LEFT JOIN facts USING (run_id, kind, field)
    GROUP BY kind, field, value
)

SELECT
    kind, field,
    coalesce(list(value ORDER BY value NULLS LAST) FILTER (in_base), []) AS base_values,
    coalesce(list(value ORDER BY value NULLS LAST) FILTER (in_candidate), []) AS candidate_values,
    bool_and(in_base = in_candidate) AS same
FROM grid
GROUP BY kind, field
