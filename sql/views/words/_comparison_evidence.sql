-- One value: how many runs a verdict rests on, in words.
--
-- arguments: base_runs, candidate_runs, hosts, verdict, is_repeated
CASE WHEN base_runs = 1 AND candidate_runs = 1 THEN 'one run each'
    ELSE printf('%d against %d run%s', base_runs, candidate_runs, CASE WHEN candidate_runs = 1 THEN '' ELSE 's' END) END
|| CASE WHEN hosts > 1 THEN printf(' on %d hosts', hosts) ELSE '' END
|| CASE WHEN verdict IN ('SLOWER', 'WORSE', 'FASTER', 'BETTER')
    THEN CASE WHEN is_repeated THEN ', confirmed' ELSE ', not confirmed' END ELSE '' END
