-- One value: the name of an operator or kernel without what differs from one compilation to the next: the hash and the number of code
-- that Inductor or Triton generates.
--
-- arguments: name
regexp_replace(
    regexp_replace(name, '(CompiledFxGraph )\w{20,}', '\1…'), '^(triton_[a-z]+_fused\w*?|(?:graph_\d+_)?cpp_fused\w*?)_\d+$', '\1'
)
