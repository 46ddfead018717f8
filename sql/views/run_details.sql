-- One row per run: all that is known of it and of the machine it ran on.
--
-- run_id           Run.
-- config           Config it belongs to.
-- source           What produced it: api, measure, or the format imported.
-- suite            Set of workloads it was about.
-- status           How it ended: ok, failed, interrupted; imported for results of other tools.
-- reason           Why, in one line.
-- began_at         When it began; for an import that does not say, when it was loaded. UTC.
-- command          Command line that produced it.
-- git_commit       Commit of the measured code.
-- git_branch       Branch of the measured code.
-- git_dirty        Whether the working tree differed from that commit.
-- host             Machine that measured.
-- tags             Labels given by the user, as a JSON object.
-- cases            Cases announced.
-- failed           Cases whose performance or accuracy failed.
-- samples          Samples of all metrics.
-- steps            Scheduler steps.
-- files            Files imported.
-- rejected         Lines of them that could not be read.
-- bench_version    Version of bench that recorded it.
-- environment_id   Environment it ran in; what follows describes that.
-- cpu              Processor model.
-- logical_cores    Processors the scheduler sees.
-- governor         CPU frequency governor.
-- ram_bytes        Main memory.
-- gpus             GPU names, in device order.
-- driver           GPU driver version.
-- os               Operating system and kernel release.
-- python           Python version.
-- torch            PyTorch version.
-- flags            Compiler and dynamo/inductor settings, as a JSON object.
-- variables        Environment variables that change speed, as a JSON object.
WITH
run AS (SELECT DISTINCT ON (run_id) * FROM runs ORDER BY run_id, started_at, config),
environment AS (SELECT DISTINCT ON (environment_id) * FROM environments ORDER BY environment_id)

SELECT
    run_id, summary.config, summary.source, summary.suite, status, reason, began_at, command, summary.git_commit,
    summary.git_branch, git_dirty, summary.host, tags, cases, failed, samples, steps, files, rejected, bench_version,
    run.environment_id, cpu, logical_cores, governor, ram_bytes, gpus, driver, os, python, torch, flags, variables
FROM run_summaries AS summary
JOIN run USING (run_id)
LEFT JOIN environment ON run.environment_id = environment.environment_id
