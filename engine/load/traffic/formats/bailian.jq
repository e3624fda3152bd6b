# Times in s. Each row has its whole prompt, as blocks of 16 tokens, so its turns need no answer of another.
module {tool: "Bailian", file: "JSON lines with chat_id, timestamp, input_length, output_length, hash_ids"};
def knows: has("chat_id") and has("input_length") and has("hash_ids");
{at: .timestamp, prompt: .input_length, output: .output_length, blocks: .hash_ids, block: 16}
