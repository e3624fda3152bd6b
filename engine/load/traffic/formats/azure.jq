module {tool: "Azure LLM inference", file: "CSV with TIMESTAMP, ContextTokens, GeneratedTokens"};
def knows: has("TIMESTAMP") and has("ContextTokens") and has("GeneratedTokens");
{at: .TIMESTAMP, prompt: .ContextTokens, output: .GeneratedTokens}
