-- One value: the name of an operator or kernel without what differs from one compilation to the next: the hash and the numbers of code
-- that Inductor or Triton generates and of its graph, and whether it is pointwise (poi), reduces in one pass (per) or in a loop (red): what is left
-- are the operators that it does, which Inductor puts into the name.
--
-- arguments: name
regexp_replace(
    regexp_replace(
        CASE WHEN regexp_matches(name, '^(graph_\d+_)?(triton_[a-z]+|cpp)_fused\w*_\d+$')
            THEN regexp_replace(regexp_replace(name, '^graph_\d+_', ''), '_\d+$', '') ELSE name END,
        'CompiledFxGraph (\w{20,}|None)', 'CompiledFxGraph …'
    ),
    '^triton_(poi|per|red)_fused_', 'triton_fused_'
)
