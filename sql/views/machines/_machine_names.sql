-- One row per name that the project's settings give to classes of machine; empty in a store: whoever opens it puts the names there.
--
-- name     VARCHAR  Name of the class.
-- pattern  VARCHAR  What it stands for: part of the readable name of a class, with * and ? as in file names, or the id of one.
SELECT NULL::VARCHAR AS name, NULL::VARCHAR AS pattern
WHERE false
