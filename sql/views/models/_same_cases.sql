-- One row per imported case of unknown batch size that is another case: the rule by which a model that failed is the same case.
-- Results of torch.compile give a model that failed no batch size, and often judge accuracy at another. A case of unknown
-- batch size that ended well in no run is the one case with the same other axes whose batch size is known, of several the
-- one that was judged for performance, unless its run judged that for performance as well.
--
-- run_id   VARCHAR  Run that announced it.
-- case_id  VARCHAR  Case of unknown batch size.
-- same_id  VARCHAR  The case that it is.
WITH
imported_cases AS (
    SELECT *
    FROM case_axes
    WHERE batch_size IS NULL AND case_id IN (SELECT case_id FROM cases WHERE source_id IS NOT NULL)
),
good_cases AS (  -- of these alone: most stores have few or none
    SELECT DISTINCT outcome.case_id
    FROM case_outcomes AS outcome
    JOIN imported_cases AS imported ON outcome.case_id = imported.case_id
    WHERE kind = 'performance' AND status = 'ok'
),
candidates AS (
    SELECT imported.case_id, known.case_id AS same_id
    FROM imported_cases AS imported
    JOIN case_axes AS known
        ON imported.name = known.name AND imported.panel = known.panel
        AND imported.sequence_length IS NOT DISTINCT FROM known.sequence_length
        AND imported.parameters IS NOT DISTINCT FROM known.parameters
    ANTI JOIN good_cases AS good ON imported.case_id = good.case_id
    WHERE known.batch_size IS NOT NULL
),
performances AS (
    SELECT DISTINCT same_id
    FROM case_outcomes AS outcome
    JOIN candidates ON outcome.case_id = candidates.same_id
    WHERE kind = 'performance'
),
counterparts AS (
    SELECT
        case_id, coalesce(min(candidates.same_id) FILTER (performance.same_id IS NOT NULL), min(candidates.same_id)) AS same_id
    FROM candidates
    LEFT JOIN performances AS performance ON candidates.same_id = performance.same_id
    GROUP BY case_id
    HAVING count(performance.same_id) = 1 OR count(*) = 1
)

SELECT DISTINCT announced.run_id, announced.case_id, same_id
FROM cases AS announced
JOIN counterparts ON announced.case_id = counterparts.case_id
ANTI JOIN case_outcomes AS other
    ON announced.run_id = other.run_id AND counterparts.same_id = other.case_id AND other.kind = 'performance'
