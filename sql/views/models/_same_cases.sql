-- One row per imported case of unknown batch size that is another case: the rule by which a model that failed is the same case.
-- Results of torch.compile give a model that failed no batch size, and often judge accuracy at another. A case of unknown
-- batch size that ended well in no run is the one case with the same other axes whose batch size is known, of several the
-- one that was judged for performance, unless its run judged that for performance as well.
--
-- run_id   VARCHAR  Run that announced it.
-- case_id  VARCHAR  Case of unknown batch size.
-- same_id  VARCHAR  The case that it is.
WITH
performances AS (SELECT DISTINCT case_id FROM case_outcomes WHERE kind = 'performance'),
unknown_cases AS (
    SELECT *
    FROM case_axes
    WHERE batch_size IS NULL AND case_id IN (SELECT case_id FROM cases WHERE source_id IS NOT NULL)
        AND case_id NOT IN (SELECT case_id FROM case_outcomes WHERE kind = 'performance' AND status = 'ok')
),
counterparts AS (
    SELECT
        unknown_cases.case_id,
        coalesce(min(known.case_id) FILTER (performance.case_id IS NOT NULL), min(known.case_id)) AS same_id
    FROM unknown_cases
    JOIN case_axes AS known
        ON unknown_cases.name = known.name AND unknown_cases.panel = known.panel
        AND unknown_cases.sequence_length IS NOT DISTINCT FROM known.sequence_length
        AND unknown_cases.parameters IS NOT DISTINCT FROM known.parameters
    LEFT JOIN performances AS performance ON known.case_id = performance.case_id
    WHERE known.batch_size IS NOT NULL
    GROUP BY unknown_cases.case_id
    HAVING count(performance.case_id) = 1 OR count(*) = 1
)

SELECT DISTINCT announced.run_id, announced.case_id, same_id
FROM cases AS announced
JOIN counterparts ON announced.case_id = counterparts.case_id
ANTI JOIN case_outcomes AS other
    ON announced.run_id = other.run_id AND counterparts.same_id = other.case_id AND other.kind = 'performance'
