-- One row per run of a comparison: which side it is on, and what it is compared with.
-- Where `base` is NULL, each candidate is compared with earlier runs of its own config and host: `pair` numbers these. Only
-- the last 3 · `last` runs before the first candidate are considered. Where they include fewer than 5 runs of the host, runs
-- of any host count, provided they come from 5 hosts or more: the differences between hosts are then part of the noise.
--
-- arguments: base, candidate, last
--
-- pair         BIGINT     Number of the config and host that are judged apart; 0 where the base is given.
-- side         VARCHAR    'base' or 'candidate'.
-- run_id       VARCHAR    Run; one named twice counts once.
-- config       VARCHAR    Config it belongs to.
-- host         VARCHAR    Machine it ran on.
-- place        BIGINT     Its place in time, from 1.
-- began_at     TIMESTAMP  When it began. UTC.
-- git_commit   VARCHAR    Commit it measured.
-- is_shared    BOOLEAN    Whether the other side has runs of that config and host, too.
-- is_anywhere  BOOLEAN    Whether the base of the pair is of any host.
-- is_session   BOOLEAN    Whether all candidates of the pair began within a day, and the base half a day before or after, so
--                         that the candidates share what that day was like and the base does not.
WITH
run_places AS (
    SELECT *, coalesce(host, '') AS machine, row_number() OVER (ORDER BY began_at NULLS FIRST, run_id) AS place
    FROM _run_times
),
candidates AS (
    SELECT *, CASE WHEN base::VARCHAR[] IS NULL THEN dense_rank() OVER (ORDER BY config, machine) ELSE 0 END AS pair
    FROM run_places
    WHERE list_contains(candidate::VARCHAR[], run_id)
),
pairs AS (
    SELECT pair, config, machine, min(place) AS first_place
    FROM candidates
    WHERE pair > 0
    GROUP BY pair, config, machine
),
earlier_runs AS (
    SELECT run_places.*, pair, run_places.machine = pairs.machine AS is_here
    FROM run_places
    JOIN pairs ON run_places.config = pairs.config AND place < first_place
    WHERE NOT list_contains(candidate::VARCHAR[], run_id)
    QUALIFY row_number() OVER (PARTITION BY pair, run_places.machine ORDER BY place DESC) <= 3 * last
),
pair_hosts AS (
    SELECT pair, count(*) FILTER (is_here) < 5 AND count(DISTINCT machine) >= 5 AS is_anywhere
    FROM earlier_runs
    GROUP BY pair
),
sides AS (
    SELECT pair, 'candidate' AS side, run_id, config, host, machine, place, began_at, git_commit FROM candidates
    UNION ALL
    SELECT pair, 'base', run_id, config, host, machine, place, began_at, git_commit
    FROM earlier_runs
    JOIN pair_hosts USING (pair)
    WHERE is_here OR is_anywhere
    UNION ALL
    SELECT 0, 'base', run_id, config, host, machine, place, began_at, git_commit
    FROM run_places
    WHERE list_contains(base::VARCHAR[], run_id)
)

SELECT
    sides.pair, side, run_id, config, host, place, began_at, git_commit,
    min(side) OVER run_place <> max(side) OVER run_place AS is_shared, coalesce(is_anywhere, false) AS is_anywhere,
    coalesce(
        max(epoch_us(began_at)::HUGEINT) FILTER (side = 'candidate') OVER same_pair
            - min(epoch_us(began_at)) FILTER (side = 'candidate') OVER same_pair <= 86400000000
        AND abs(
            min(epoch_us(began_at)::HUGEINT) FILTER (side = 'candidate') OVER same_pair
                - max(epoch_us(began_at)) FILTER (side = 'base') OVER same_pair
        ) > 43200000000, false
    ) AS is_session
FROM sides
LEFT JOIN pair_hosts ON sides.pair = pair_hosts.pair
WINDOW run_place AS (PARTITION BY sides.pair, config, machine), same_pair AS (PARTITION BY sides.pair)
