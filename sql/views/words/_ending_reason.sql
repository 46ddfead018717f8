-- One value: how a case ended on a side, in words; NULL where it ended well. `runs` are those that measured it all the same.
-- Why some runs of the base failed is not said beside others: a night that lost all cases would stand in every row.
--
-- arguments: side, status, failed, runs, reason
side || ' ' || status
|| CASE WHEN failed > 0 AND runs > 0 THEN printf(' in %d of %d runs', failed, failed + runs) ELSE '' END
|| CASE WHEN side = 'base' AND failed > 0 AND runs > 0 THEN '' ELSE coalesce(': ' || reason, '') END
