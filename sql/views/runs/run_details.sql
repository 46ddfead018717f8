-- One row per run: all that is known of it and of the machine it ran on.
--
-- axes: run
-- config          VARCHAR    Config it belongs to.
-- source          VARCHAR    What produced it: api, measure, or the format imported.
-- suite           VARCHAR    Set of workloads it was about.
-- status          VARCHAR    How it ended: ok, failed, interrupted; imported for results of other tools.
-- reason          VARCHAR    Why, in one line.
-- began_at        TIMESTAMP  When it began; for an import that does not say, when it was loaded. UTC.
-- command         VARCHAR    Command line that produced it.
-- git_commit      VARCHAR    Commit of the measured code.
-- git_branch      VARCHAR    Branch of the measured code.
-- git_dirty       BOOLEAN    Whether the working tree differed from that commit.
-- host            VARCHAR    Machine that measured.
-- tags            JSON       Labels given by the user, as a JSON object.
-- devices         VARCHAR[]  Devices of its cases, in order: cuda among them says that it used a GPU.
-- dtypes          VARCHAR[]  Types its cases computed in, in order.
-- cases           BIGINT     Cases announced, and bins of tokens that have scheduler steps (`step_cells`).
-- failed          BIGINT     Cases whose performance or accuracy failed.
-- samples         BIGINT     Samples of all metrics.
-- steps           BIGINT     Scheduler steps.
-- files           BIGINT     Files imported.
-- rejected        BIGINT     Lines of them that could not be read.
-- bench_version   VARCHAR    Version of bench that recorded it.
-- environment_id  VARCHAR    Environment it ran in; what follows describes that.
-- cpu             VARCHAR    Processor model.
-- architecture    VARCHAR    Instruction set, such as x86_64.
-- logical_cores   BIGINT     Processors the scheduler sees.
-- governor        VARCHAR    CPU frequency governor.
-- ram_bytes       BIGINT     Main memory.
-- gpus            VARCHAR[]  GPU names, in device order.
-- driver          VARCHAR    GPU driver version.
-- extra           JSON       Further facts, such as memory and power limit of the GPUs, as a JSON object.
-- os              VARCHAR    Operating system and kernel release.
-- python          VARCHAR    Python version.
-- torch           VARCHAR    PyTorch version.
-- packages        JSON       Versions of what models are made of and compiled with, as a JSON object.
-- flags           JSON       Dynamo and inductor settings that are not torch's defaults, as a JSON object; NULL where no
--                            compiler ran.
-- variables       JSON       Environment variables that change speed, as a JSON object.
WITH
environment AS (SELECT DISTINCT ON (environment_id) * FROM environments ORDER BY environment_id),
case_kinds AS (
    SELECT
        run_id,
        list_sort(list(DISTINCT device) FILTER (device IS NOT NULL)) AS devices,
        list_sort(list(DISTINCT dtype) FILTER (dtype IS NOT NULL)) AS dtypes
    FROM cases
    GROUP BY run_id
)

SELECT
    summary.run_id, summary.config, summary.source, summary.suite, status, reason, began_at, command, summary.git_commit,
    summary.git_branch, git_dirty, summary.host, tags, devices, dtypes, cases, failed, samples, steps, files, rejected, bench_version,
    run.environment_id, cpu, architecture, logical_cores, governor, ram_bytes, gpus, driver, extra, os, python, torch, packages,
    coalesce(environment.flags, set_flags.flags) AS flags, variables
FROM run_summaries AS summary
JOIN _run_records AS run ON summary.run_id = run.run_id
LEFT JOIN environment ON run.environment_id = environment.environment_id
LEFT JOIN _run_flags AS set_flags ON summary.run_id = set_flags.run_id
LEFT JOIN case_kinds ON summary.run_id = case_kinds.run_id
