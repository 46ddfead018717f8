"""SQL that turns the events of a trace into rows: `RECORDS` classifies events, whose cases are found among those that are known,
and `ROWS` makes the rows of each table."""

from ...warehouse.events import Event, MemorySample, Metric, Reject, Timing
from ...warehouse.schema import literal, quote
from ..format import MAX_TEXT
from ..readers.bulk import LONGEST_NAME

OTHER = (  # what the format defines beside the usual
    "id", "bp", "s", "tts", "tdur", "stack", "sf", "cname", "scope", "bind_id", "flow_in", "flow_out", "id2", "estack", "esf",
)  # fmt: skip
TEXTS, JSONS = ("ph", "cat", "name", "ts", "dur"), ("pid", "tid", "args", *OTHER)
COMPUTED_AXES = (  # arguments that tell what was computed, the same whenever it is computed again
    "Input Dims", "Input type", "grid", "block", "bytes", "Collective name", "In msg nelems", "Out msg nelems", "Group size",
    "dtype",
)  # fmt: skip
LONGEST_US = 2**63 / 1000
FIRST_US, LAST_US = 10**14, 10**17  # times that are since 1970 by themselves: 1973 to 5138


def _fields() -> str:
    """The remaining fields of a record as JSON, in SQL."""
    place = [
        "'\"ts\":' || CASE WHEN isfinite(us) THEN ts ELSE to_json(ts) END",
        *(f"'\"{key}\":' || {quote(key)}" for key in ("pid", "tid", "args")),
    ]
    whole = [
        *(f"'\"{key}\":' || to_json({quote(key)})" for key in ("ph", "cat", "dur")), "'\"name\":' || to_json(called)",
        *place, *(f"'\"{key}\":' || {quote(key)}" for key in OTHER),
    ]  # fmt: skip
    short = f"kind = 'span' AND name = called AND coalesce({', '.join(OTHER)}) IS NULL"  # as nearly all are
    key = f"CASE WHEN {short} THEN concat_ws(',', {', '.join(place)}) ELSE concat_ws(',', {', '.join(whole)}) END"
    return f"'{{' || {key} || '}}'"


FIELDS = _fields()
FIELDS_IN_PLACE = f"CASE WHEN kind = 'bad' THEN {FIELDS} END"
ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset", "graph_trace")  # what is time of a GPU, in `_trace_spans`
_PATHS = ", ".join(literal(f'$."{key}"') for key in COMPUTED_AXES)
READ_AXES = (
    f"CASE WHEN ph IN ('X', 'B') THEN coalesce(to_json(json_extract(args, [{_PATHS}]))::VARCHAR, '') ELSE '' END"
)
MOST_OPEN = 100_000  # spans whose end has not come yet
OPENED = 'CREATE TEMP TABLE opened (line BIGINT, lane VARCHAR, "name" VARCHAR, cat VARCHAR, ts VARCHAR, args JSON, axes VARCHAR)'
HALF_COUNT = "SELECT count_if(ph IN ('B', 'E')) FROM {events}"
HALVES = """
CREATE OR REPLACE TEMP TABLE halves AS
WITH found AS (
    SELECT line, 'B' AS ph, lane, "name", cat, ts, args, axes FROM opened
    UNION ALL
    SELECT line, ph, concat_ws('/', pid ->> '$', tid ->> '$'), "name", cat, ts, args, axes FROM {events} WHERE ph IN ('B', 'E')
), placed AS (
    SELECT *, (ph = 'E')::BIGINT + sum(CASE ph WHEN 'B' THEN 1 ELSE -1 END) OVER (PARTITION BY lane ORDER BY line) AS depth
    FROM found
)
SELECT *, lag(line) OVER level AS before, lag(ph) OVER level AS ph_before, lead(ph) OVER level AS ph_after
FROM placed
WINDOW level AS (PARTITION BY lane, depth ORDER BY line)
"""
CLOSED = """
CREATE TABLE {closed} AS
WITH spans AS (
    SELECT
        ended.line, begun.* EXCLUDE (line),
        coalesce(json_merge_patch(begun.args, ended.args), begun.args, ended.args) AS merged,
        try_cast(ended.ts AS DECIMAL(24, 3)) - try_cast(begun.ts AS DECIMAL(24, 3)) AS took
    FROM halves AS ended
    JOIN halves AS begun ON ended.before = begun.line
    WHERE ended.ph = 'E' AND ended.ph_before = 'B' AND took >= 0
)
SELECT events.* REPLACE (
    if(took IS NULL, events.ph, 'X') AS ph, if(took IS NULL, events."name", spans."name") AS "name",
    if(took IS NULL, events.cat, spans.cat) AS cat, if(took IS NULL, events.ts, spans.ts) AS ts,
    if(took IS NULL, events.dur, took::VARCHAR) AS dur, if(took IS NULL, events.args, merged) AS args,
    if(took IS NULL, events.axes, spans.axes) AS axes
)
FROM {events} AS events
LEFT JOIN spans ON events.line = spans.line
"""
STILL_OPEN = f"""
CREATE OR REPLACE TEMP TABLE opened AS
SELECT line, lane, "name", cat, ts, args, axes FROM halves WHERE ph = 'B' AND ph_after IS DISTINCT FROM 'E'
ORDER BY line DESC LIMIT {MOST_OPEN}
"""
RECORDS = f"""
CREATE OR REPLACE TEMP TABLE records AS
WITH numbers AS (
    SELECT *, try_cast(ts AS DOUBLE) AS us, try_cast(dur AS DOUBLE) AS took, "name" AS called,
        CASE
            WHEN ph = 'X' AND length("name") BETWEEN 1 AND {MAX_TEXT} AND took >= 0 AND took < {LONGEST_US} THEN 'span'
            WHEN ph = 'X' OR ph IS NULL THEN 'bad'
            WHEN ph = 'C' AND length("name") BETWEEN 1 AND {MAX_TEXT} THEN 'counter'
            WHEN ph = 'i' AND "name" = '[memory]' THEN 'memory'
            ELSE 'other'
        END AS kind
    FROM {{events}} WHERE line BETWEEN $first AND $last
), named AS (
    SELECT
        * REPLACE (
            CASE
                WHEN kind NOT IN ('span', 'counter') THEN NULL
                WHEN starts_with("name", 'ProfilerStep#') THEN 'ProfilerStep' ELSE "name"
            END AS "name",
            CASE kind WHEN 'span' THEN axes ELSE '' END AS axes
        ),
        coalesce(cat, CASE kind WHEN 'counter' THEN 'counter' ELSE '' END) AS suite
    FROM numbers
)
SELECT
    line, kind, case_id,
    CASE WHEN case_id IS NULL THEN suite END AS suite, CASE WHEN case_id IS NULL THEN "name" END AS "name",
    CASE WHEN case_id IS NULL THEN axes END AS axes, CASE WHEN kind IN ('counter', 'memory') THEN args END AS args,
    CASE WHEN kind = 'span' THEN CAST(round(took * 1000) AS BIGINT) END AS duration_ns,
    CASE WHEN kind = 'span' THEN try_cast(try_cast(ts AS DECIMAL(24, 3)) * 1000 AS BIGINT) END AS began_ns,
    CASE WHEN kind = 'span' THEN
        left(
            CASE WHEN suite IN {ON_GPU} THEN coalesce(args ->> 'device', '') ELSE concat_ws('/', pid ->> '$', tid ->> '$') END,
            {LONGEST_NAME}
        )
    END AS lane,
    CASE
        WHEN $base > 0 AND us + $base >= 0 AND us + $base < {LAST_US} THEN CAST(floor(us + $base) AS BIGINT)
        WHEN us >= {FIRST_US} AND us < {LAST_US} THEN CAST(floor(us) AS BIGINT)
    END AS recorded_at,
    CASE WHEN kind = 'bad' THEN CASE
        WHEN ph IS NULL THEN 'no ph'
        WHEN "called" IS NULL OR "called" = '' THEN 'no name'
        WHEN length("called") > {MAX_TEXT} THEN 'name has ' || length("called") || ' characters'
        ELSE 'dur is ' || coalesce(left(dur, 60), 'missing') || ', no duration'
    END END AS reason,
    left({{fields}}, {MAX_TEXT}) AS fields
FROM named
LEFT JOIN cases ON suite = case_suite AND "name" = case_name AND axes = case_axes
"""
NEW_CASES = "SELECT suite, name, axes, min(line) FROM records WHERE case_id IS NULL AND name IS NOT NULL GROUP BY ALL ORDER BY 4"
NAME_CASES = """
UPDATE records SET case_id = cases.case_id FROM cases
WHERE records.case_id IS NULL AND suite = case_suite AND name = case_name AND axes = case_axes
"""
_FIELDS = "kind <> 'bad' AND fields IS NOT NULL"
ROWS: dict[type[Event], tuple[str, str]] = {  # which records there are rows of, and the rows
    Timing: (
        "kind = 'span'",
        "SELECT {place}, case_id, 'latency' AS metric, 'steady' AS phase, 1 AS loops, duration_ns, recorded_at, began_ns, lane "
        "FROM records WHERE kind = 'span'",
    ),
    MemorySample: (
        "kind = 'memory'",
        """
        SELECT {place}, source, size_bytes, 'reading' AS statistic, device_index, recorded_at FROM (
            SELECT line, recorded_at, CASE WHEN index >= 0 THEN index END AS device_index, unnest([
                {'source': device || '_allocated', 'size_bytes': try_cast(args ->> 'Total Allocated' AS BIGINT)},
                {'source': device || '_reserved', 'size_bytes': try_cast(args ->> 'Total Reserved' AS BIGINT)}
            ], recursive := true) FROM (
                SELECT *, try_cast(args ->> 'Device Id' AS BIGINT) AS index,
                    CASE args ->> 'Device Type' WHEN '0' THEN 'cpu' WHEN '1' THEN 'cuda' ELSE 'device' END AS device
                FROM records WHERE kind = 'memory'
            )
        ) WHERE size_bytes >= 0
        """,
    ),
    Metric: (
        f"kind = 'counter' OR {_FIELDS}",
        f"""
        SELECT {{place}}, case_id, left(entry.key, {LONGEST_NAME}) AS metric,
            CASE WHEN isfinite(number) THEN number END AS value,
            CASE WHEN isfinite(number) THEN NULL ELSE left(entry.value ->> '$', {MAX_TEXT}) END AS original_value, recorded_at
        FROM (
            SELECT *, try_cast(entry.value ->> '$' AS DOUBLE) AS number FROM (
                SELECT line, case_id, recorded_at, unnest(map_entries(try_cast(args AS MAP(VARCHAR, JSON)))) AS entry
                FROM records WHERE kind = 'counter'
            )
        )
        UNION ALL
        SELECT {{place}}, case_id, 'fields', NULL, fields, recorded_at FROM records WHERE {_FIELDS}
        """,
    ),
    Reject: ("kind = 'bad'", "SELECT {place}, reason, fields AS text FROM records WHERE kind = 'bad' ORDER BY line"),
}
_COUNTED = ", ".join(f"count_if({condition})" for condition, _ in ROWS.values())
RECORD_COUNTS = f"SELECT min(recorded_at), count(*), {_COUNTED} FROM records"
