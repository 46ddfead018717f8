-- One value: what to sort names by, for numbers in them to count by their size: `config-2` comes before `config-10`. A list: the
-- name with each number in 20 digits, then the name as it is.
--
-- arguments: name
[
    array_to_string(list_transform(
        regexp_extract_all(name, '([0-9]+|[^0-9]+)', 1),
        lambda part: CASE WHEN part >= '0' AND part < ':' THEN repeat('0', 20 - length(part)) || part ELSE part END
    ), ''),
    name
]
