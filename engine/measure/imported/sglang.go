package imported

// SGLang's bench_serving appends one object a line to its output file. Where
// there is no limit the rate is written as a bare Infinity, which is no JSON.

var sglangTimes = []struct {
	name, key string
	definition
}{
	{"ttft_ms", "ttft_ms", definition{"ms", lower, "Time from the send to the first chunk with text."}},
	{"tpot_ms", "tpot_ms", definition{"ms", lower, "(end − first chunk) / (output tokens − 1) of each request."}},
	{"itl_ms", "itl_ms", definition{"ms", lower, "Gap between chunks, divided by the tokens that the tool thinks are in them in newer versions; between chunks in older ones."}},
	{"e2e_latency_ms", "e2e_latency_ms", definition{"ms", lower, "Time from the send to the end of each request."}},
}

var sglangNumbers = []struct {
	name string
	definition
}{
	{"request_throughput", definition{"req/s", higher, "Requests that were answered, over the duration of the benchmark."}},
	{"input_throughput", definition{"tok/s", higher, "Prompt tokens of all requests, over the duration."}},
	{"output_throughput", definition{"tok/s", higher, "Output tokens of all requests, over the duration. The server's count, or the number that was asked for: a chat is not asked for usage."}},
	{"total_throughput", definition{"tok/s", higher, "Prompt and output tokens of all requests, over the duration."}},
	{"duration", definition{"s", neither, "From the first send to the last answer."}},
	{"completed", definition{"requests", neither, "Requests that were answered."}},
	{"concurrency", definition{"requests", neither, "Sum of the requests' times over the duration: the average in flight."}},
	{"accept_length", definition{"tokens", higher, "Tokens a step of speculative decoding, by the server's own average."}},
	{"total_input_tokens", definition{"tokens", neither, "Prompt tokens."}},
	{"total_output_tokens", definition{"tokens", neither, "Output tokens; see output_throughput for who counted them."}},
	{"total_output_tokens_retokenized", definition{"tokens", neither, "Output tokens, as the tool's tokenizer counts the text."}},
}

func isSGLang(n node) bool {
	return n.has("completed", "duration", "dataset_name", "total_input_tokens") && !n.has("num_prompts")
}

func readSGLang(f *File, all []node) error {
	f.note("std is of the population (divisor n), over requests of one server")
	for _, n := range all {
		if !isSGLang(n) {
			return n.wrong("it is no result of SGLang's, as the first of the file is")
		}
		c := Cell{What: what(n, "backend", "dataset_name", "request_rate", "max_concurrency", "random_input_len", "random_output_len", "random_range_ratio", "sharegpt_output_len")}
		c.Name = servingName(c.What)
		for _, d := range sglangNumbers {
			x, ok, err := n.member(d.name).amount()
			if err != nil {
				return err
			}
			if ok {
				c.Metrics = append(c.Metrics, d.metric(d.name, map[string]float64{"value": x}))
			}
		}
		for _, d := range sglangTimes {
			stats, err := prefixed(n, d.key)
			if err != nil {
				return err
			}
			if len(stats) > 0 {
				c.Metrics = append(c.Metrics, d.metric(d.name, stats))
			}
		}
		counted, ok, err := n.member("total_output_tokens").amount()
		if err != nil {
			return err
		}
		again, both, err := n.member("total_output_tokens_retokenized").amount()
		if err != nil {
			return err
		}
		f.Cells = append(f.Cells, c)
		if ok && both && again < 0.9*counted {
			f.note("%s: %g output tokens were counted, and the text has %g: the length that was asked for was probably taken for the length that came", c.Name, counted, again)
		}
	}
	return nil
}
