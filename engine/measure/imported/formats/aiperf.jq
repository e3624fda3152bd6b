# One object, a metric a member with its unit and statistics. An unknown name keeps its literal meaning, and no direction.
module {tool: "AIPerf", file: "profile_export_aiperf.json"};
def knows: any(.[]; type == "object" and has("unit"))
  and (has("aiperf_version") or has("schema_version") and (. as $file | any(profile_fields[]; $file[.[0]] | objects | has("unit"))));
results | {version: (.aiperf_version // .schema_version), date: .start_time} + profile_export
