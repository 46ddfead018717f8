-- One value: the name of an operator or kernel without what differs from one compilation to the next: the hash and the number of code
-- that Inductor or Triton generates, and whether it is pointwise (poi), reduces in one pass (per) or in a loop (red): what is left
-- are the operators that it does, which Inductor puts into the name.
--
-- arguments: name
regexp_replace(
    regexp_replace(
        regexp_replace(name, '(CompiledFxGraph )\w{20,}', '\1…'), '^(triton_[a-z]+_fused\w*?|(?:graph_\d+_)?cpp_fused\w*?)_\d+$', '\1'
    ),
    '^triton_(poi|per|red)_fused_', 'triton_fused_'
)
