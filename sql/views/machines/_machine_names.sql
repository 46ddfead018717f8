-- One row per name that the project's settings give to classes of machine; empty in a store: whoever opens it puts the names there.
--
-- name     VARCHAR  Name of the class.
-- pattern  VARCHAR  Regular expression in small letters: a class of this readable name, processor or id is meant.
SELECT NULL::VARCHAR AS name, NULL::VARCHAR AS pattern
WHERE false
