-- One row per record that could not be read: where it stands, and why.
--
-- config     VARCHAR  Config its file was loaded as, or of the run that it came to from a server.
-- path       VARCHAR  File; NULL for what came from a server, whose address the reason names.
-- line       BIGINT   Line (or record) in it, from 1.
-- reason     VARCHAR  Why it could not be read.
-- text       VARCHAR  The record itself; bytes that are no UTF-8 stand as \xNN.
-- source_id  VARCHAR  File, by its id.
-- run_id     VARCHAR  Run it was loaded into.
SELECT coalesce(files.config, own.config) AS config, files.path, line, reason, text, rejects.source_id, rejects.run_id
FROM rejects
LEFT JOIN source_files AS files ON rejects.source_id = files.source_id
LEFT JOIN _run_records AS own ON rejects.run_id = own.run_id
