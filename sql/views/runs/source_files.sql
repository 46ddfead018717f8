-- One row per imported file: the accounting of its lines, over all the times it grew.
-- lines = loaded + rejected + known + left_out.
--
-- source_id  VARCHAR    File.
-- run_id     VARCHAR    Run it was first loaded into; of a file that holds several, the first.
-- runs       BIGINT     Runs it holds.
-- config     VARCHAR    Config it was loaded as.
-- path       VARCHAR    Path as first given.
-- name       VARCHAR    File name.
-- format     VARCHAR    Format it was recognised as.
-- bytes      BIGINT     Bytes loaded.
-- lines      BIGINT     Lines (or records) loaded from.
-- loaded     BIGINT     Lines that became events.
-- rejected   BIGINT     Lines that could not be read.
-- known      BIGINT     Lines that said nothing new.
-- left_out   BIGINT     Lines that are no record, such as those no pattern matches.
-- parts      BIGINT     Times it was loaded: 1, and 1 more for each growth.
-- loaded_at  TIMESTAMP  When it was loaded last. UTC.
-- notes      JSON       What else its reader had to say, as a JSON list of sentences.
SELECT
    source_id, arg_min(run_id, (part, run_id)) AS run_id, count(DISTINCT run_id) AS runs, min(config) AS config,
    arg_min(path, (part, path)) AS path, arg_min(name, (part, name)) AS name, min(format) AS format, max(end_byte) AS bytes,
    _total(lines) AS lines, _total(loaded) AS loaded, _total(rejected) AS rejected,
    TRY_CAST(sum(coalesce(known, lines::HUGEINT - loaded - rejected)) AS BIGINT) AS known, _total(coalesce(left_out, 0)) AS left_out,
    count(DISTINCT end_byte) AS parts, max(recorded_at) AS loaded_at,
    arg_max(notes, (part, notes)) AS notes
FROM sources
GROUP BY source_id
