package kinds

import "time"

func init() {
	register(Kind{
		Name: "command",
		Doc: "A benchmark that is a script rather than a server: it is started, does its work and ends. Each execution is one " +
			"launch, and its metrics are taken out of the JSON that it prints or writes, each by a jq expression. It passes " +
			"when it exits with status 0 and every metric is there, a finite number and not below its min. Rules read " +
			"`command.<metric>` as they read a workload's. Everything but the JSON belongs on standard error.",
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
		// No probe: it is ready once it runs, and measured once it has ended.
		DefaultReadyTimeout: time.Minute,
		DefaultStopGrace:    10 * time.Second,
	})
}
