# Times in ms. A prompt is given by its length and the blocks of 512 tokens that it begins with, or as text; a session's
# later turns follow the answer after a delay. AIPerf writes the same.
module {tool: "Mooncake", file: "JSON lines with timestamp, input_length, output_length, hash_ids"};
def knows: (has("timestamp") or has("delay")) and (has("hash_ids") or has("text_input") or has("input_length")) and (has("chat_id") | not);
{at: (if .timestamp then .timestamp / 1000 else null end), after: (if .delay then .delay / 1000 else null end), prompt: .input_length, text: .text_input,
 output: .output_length, blocks: .hash_ids, block: 512, session: .session_id}
