-- One row per run of a comparison: which side it is on, and what it is compared with.
-- Where `base` is NULL, each candidate is compared with earlier runs of its own config and class of machine (see `machines`): `pair`
-- numbers these. Only the last 3 · `last` rounds (see `rounds`) before the first candidate are considered. A class that
-- has fewer than three earlier rounds has no base, where the config was measured on other machines: nothing tells yet how fast it is.
--
-- Where nothing is known of a machine, its host stands for the class. If there are fewer than 5 earlier runs of the host, runs of any such
-- host count, provided they come from 5 hosts or more: the differences between hosts are then part of the noise.
--
-- arguments: base, candidate, last
--
-- pair              BIGINT     Number of the config and class that are judged apart; 0 where the base is given.
-- side              VARCHAR    'base' or 'candidate'.
-- run_id            VARCHAR    Run; one named twice counts once.
-- config            VARCHAR    Config it belongs to.
-- host              VARCHAR    Machine it ran on.
-- machine           VARCHAR    Class of that; NULL unknown.
-- machine_name      VARCHAR    Readable name of the class.
-- is_known          BOOLEAN    Whether its processor is known, or the user named it; NULL where nothing is known of it.
-- machine_id        VARCHAR    What the class is told by (see _machine_facts); NULL where nothing is known of it.
-- place             BIGINT     Its place in time, from 1.
-- round_place       BIGINT     Place in time of the first run of its round.
-- began_at          TIMESTAMP  When it began. UTC.
-- git_commit        VARCHAR    Commit it measured.
-- is_shared         BOOLEAN    Whether the other side has runs of that config and class, too.
-- is_anywhere       BOOLEAN    Whether the base of the pair is of any host.
-- is_other_machine  BOOLEAN    Whether the class of every run of the pair is known, and no run of the base is of a class of the
--                              candidate. NULL where that is open: a processor is unknown, and no host is on both sides of a base that
--                              is given, one of which has fewer than three.
-- is_new_machine    BOOLEAN    Whether the class of the pair has fewer than three earlier rounds, hence no base, and other machines have some.
-- here_before       BIGINT     Earlier rounds of that class, of those considered; NULL where the config has no earlier run.
-- is_session        BOOLEAN    Whether all candidates of the pair began within a day, and the base half a day before or after,
--                              so that the candidates share what that day was like and the base does not.
WITH
run_places AS (
    SELECT
        time.*, class_id AS machine, class.machine AS machine_name, coalesce(class_id, time.machine_id, '') AS machine_key, is_known, round_id,
        row_number() OVER (ORDER BY time.began_at NULLS FIRST, time.run_id) AS place
    FROM _run_times AS time
    JOIN _rounds AS round ON time.run_id = round.run_id
    LEFT JOIN _machine_classes AS class ON time.machine_id = facts_id
),
round_places AS (SELECT *, min(place) OVER (PARTITION BY round_id) AS round_place FROM run_places),
candidates AS (
    SELECT *, CASE WHEN base::VARCHAR[] IS NULL THEN dense_rank() OVER (ORDER BY config, machine_key) ELSE 0 END AS pair
    FROM round_places
    WHERE list_contains(candidate::VARCHAR[], run_id)
),
pairs AS (
    SELECT pair, config, machine, machine_key, min(place) AS first_place
    FROM candidates
    WHERE pair > 0
    GROUP BY pair, config, machine, machine_key
),
earlier_runs AS (
    SELECT earlier.*, pair, earlier.machine_key = pairs.machine_key AS is_here, pairs.machine IS NOT NULL AS has_class
    FROM round_places AS earlier
    JOIN pairs ON earlier.config = pairs.config AND place < first_place
    WHERE NOT list_contains(candidate::VARCHAR[], run_id)
    QUALIFY dense_rank() OVER (PARTITION BY pair, earlier.machine_key ORDER BY round_place DESC) <= 3 * last
),
pair_machines AS (
    SELECT
        pair, NOT has_class AND count(*) FILTER (is_here) < 5 AND count(DISTINCT machine_key) FILTER (machine IS NULL) >= 5 AS is_anywhere,
        has_class AND count(DISTINCT round_id) FILTER (is_here) < 3 AND count(*) FILTER (NOT is_here) > 0 AS is_new,
        count(DISTINCT round_id) FILTER (is_here) AS here_before
    FROM earlier_runs
    GROUP BY pair, has_class
),
sides AS (
    SELECT *, 'candidate' AS side
    FROM candidates
    UNION ALL
    SELECT own.* EXCLUDE (is_here, has_class), 'base'
    FROM earlier_runs AS own
    JOIN pair_machines ON own.pair = pair_machines.pair
    WHERE is_here AND NOT is_new OR is_anywhere AND machine IS NULL
    UNION ALL
    SELECT *, 0, 'base'
    FROM round_places
    WHERE list_contains(base::VARCHAR[], run_id)
),
pair_hosts AS (
    SELECT
        pair, count(*) = count(machine) AND count(*) FILTER (side = 'base') > 0 AND NOT list_has_any(
            coalesce(list(machine) FILTER (side = 'base'), []), coalesce(list(machine) FILTER (side = 'candidate'), [])
        ) AS is_other_class,
        count(*) = count(*) FILTER (is_known) OR count(*) > count(host) AS is_told,
        list(DISTINCT host) FILTER (side = 'base' AND host IS NOT NULL) AS base_hosts,
        list(DISTINCT host) FILTER (side = 'candidate' AND host IS NOT NULL) AS candidate_hosts
    FROM sides
    GROUP BY pair
),
strange_pairs AS (
    SELECT
        pair, CASE
            WHEN is_other_class OR pair > 0 OR is_told THEN is_other_class
            WHEN list_has_any(base_hosts, candidate_hosts) THEN false
            WHEN least(coalesce(len(base_hosts), 0), coalesce(len(candidate_hosts), 0)) >= 3 THEN false
        END AS is_other_machine
    FROM pair_hosts
)

SELECT
    sides.pair, side, run_id, config, host, machine, machine_name, is_known, machine_id, place, round_place, began_at, git_commit,
    min(side) OVER run_place <> max(side) OVER run_place AS is_shared, coalesce(is_anywhere, false) AS is_anywhere, is_other_machine,
    coalesce(is_new, false) AS is_new_machine, here_before,
    coalesce(
        max(epoch_us(began_at)::HUGEINT) FILTER (side = 'candidate') OVER same_pair
            - min(epoch_us(began_at)) FILTER (side = 'candidate') OVER same_pair <= 86400000000
        AND abs(
            min(epoch_us(began_at)::HUGEINT) FILTER (side = 'candidate') OVER same_pair
                - max(epoch_us(began_at)) FILTER (side = 'base') OVER same_pair
        ) > 43200000000, false
    ) AS is_session
FROM sides
JOIN strange_pairs ON sides.pair = strange_pairs.pair
LEFT JOIN pair_machines ON sides.pair = pair_machines.pair
WINDOW run_place AS (PARTITION BY sides.pair, config, machine_key), same_pair AS (PARTITION BY sides.pair)
