-- One value: what an interval assumes of sessions that were not seen to vary, in words.
--
-- arguments: cases, session_reach, assumed_reach, doctor_reach, cases_reach, base_processes, candidate_processes
CASE WHEN least(base_processes, candidate_processes) >= 3
    THEN printf('%d against %d processes or repetitions of one session each; ', base_processes, candidate_processes) ELSE '' END
|| CASE
    WHEN session_reach = doctor_reach
        THEN printf('assumes that sessions differ as equal sides did for bench doctor, 95 %% within %.1f %%', 100 * session_reach)
    WHEN cases_reach > session_reach
        THEN printf('these %d cases differ by more than sessions do, assumed within %.1f %%', cases, 100 * session_reach)
    WHEN session_reach > assumed_reach
        THEN printf('assumes that sessions differ as these %d cases do, 95 %% within %.1f %%', cases, 100 * session_reach)
    ELSE printf('assumes that sessions differ as public nightly runs do, 95 %% within %.1f %%', 100 * session_reach)
END
