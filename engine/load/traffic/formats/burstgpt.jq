# Times in s. Requests that failed have no response tokens.
module {tool: "BurstGPT", file: "CSV with Timestamp, Request tokens, Response tokens"};
def knows: has("Timestamp") and has("Request tokens") and has("Response tokens");
if ."Response tokens" == 0 then {skip: "they failed when recorded"}
else {at: .Timestamp, prompt: ."Request tokens", output: ."Response tokens"} end
