-- One value: a checksum of 63 bits of what names a series beside its config, as a case's id is one of its axes: a number that is
-- compared and grouped for less than four texts. It lasts as long as the question, because engines compute it differently.
--
-- arguments: case_id, metric, phase, unit
(hash(case_id, metric, phase, unit) // 2)::BIGINT
