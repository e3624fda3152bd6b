# One object as AIPerf's, which followed it, without a version. By the shape of GenAI-Perf 0.0.12.
module {tool: "GenAI-Perf", file: "profile_export_genai_perf.json"};
def knows: has("input_config") and (has("schema_version") or has("aiperf_version") | not)
  and (. as $file | any(profile_fields[]; $file[.[0]] | objects | has("unit")));
results | profile_export
