# The rows of vLLM's and SGLang's data sets, with a time in s: turns of one session are sent after the answers.
module {tool: "vLLM and SGLang", file: "JSON lines with timestamp, prompt or messages, output_tokens or max_tokens, session_id"};
def knows: has("prompt") or has("messages");
{at: .timestamp, after: .delay, text: .prompt, messages, output: (.output_tokens // .max_tokens // .output_len), session: .session_id}
