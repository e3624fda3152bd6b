package kinds

import "time"

func init() {
	register(Kind{
		Name: "command",
		Doc: "A benchmark that is a script rather than a server. Each execution is one launch, and jq expressions " +
			"take its metrics from the JSON that it prints or writes. It counts with exit status 0 and every metric " +
			"finite and not below its min. Rules read `command.<metric>`.",
		Example: `engine "command" "bench" {
  process {
    command = ["uv", "run", "python", "bench.py", "--suite", "full"]
  }
  run {
    timeout = "30m"
  }
  metric "tg" {
    jq     = ".results[].tg"
    unit   = "tok/s"
    better = "higher"
  }
  metric "peak_gb" {
    jq     = ".memory"
    unit   = "GB"
    better = "lower"
  }
}`,
		Any: true,
		// No probe: it is ready once it runs, and measured once it has ended.
		DefaultReadyTimeout: time.Minute,
		DefaultStopGrace:    10 * time.Second,
	})
}
