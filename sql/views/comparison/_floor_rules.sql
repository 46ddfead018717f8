-- One row: what the project's settings say of the smallest change that counts; no rule in a store: whoever opens it puts them there.
--
-- floors         DOUBLE[]   The smallest change of each rule, as a fraction; the last rule of the settings first.
-- floor_metrics  VARCHAR[]  Regular expression of the metrics that it is about; NULL all.
-- floor_names    VARCHAR[]  Regular expression of the names of cases; NULL all.
SELECT CAST([] AS DOUBLE[]) AS floors, CAST([] AS VARCHAR[]) AS floor_metrics, CAST([] AS VARCHAR[]) AS floor_names
