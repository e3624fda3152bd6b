package tell

import (
	"errors"
	"testing"
	"time"

	"github.com/mxflow/mxflow/gates/verdict"
	"github.com/mxflow/mxflow/gates/verdict/code"
)

func TestLaunches(t *testing.T) {
	text, num := verdict.Text, verdict.Int
	digest := "0123456789abcdef0123456789abcdef01234567"
	for want, r := range map[string]verdict.Reason{
		"chat, baseline: tg 57.9 tok/s, 31% of what 273 GB/s allows; pp 1890 tok/s, 16% of what 125 TFLOP/s allows":                                                                                                      verdict.New(code.OfLimit, text("variant", "baseline"), verdict.Num("tg", 57.93, "tok/s"), verdict.Num("share", 0.3123, "share"), verdict.Num("bandwidth", 273, "GB/s"), verdict.Num("pp", 1890, "tok/s"), verdict.Num("pp_share", 0.1597, "share"), verdict.Num("rate", 125, "TFLOP/s")).On("chat"),
		"chat: 1240 steps/s of decoding, and 1 × NVIDIA H200 cannot make more than 650 steps/s: each reads 8.87 GB at least, of 4800 GB/s of memory bandwidth (20% more, for clocks above the data sheet): not computed": verdict.New(code.DecodeBeyond, verdict.Num("steps", 1240, "steps/s"), verdict.Num("most", 649.7, "steps/s"), verdict.Num("least", 8.866, "GB"), verdict.Num("bandwidth", 4800, "GB/s"), verdict.Num("room", 0.2, "share"), text("machine", "1 × NVIDIA H200")).On("chat"),
		"the engine died (exit status 1) while answering: EOF":                                                                                                 verdict.New(code.EngineDied, text("exit", "exit status 1"), verdict.Err(errors.New("EOF"))),
		"Out of memory. [oom, log line 3: OOM] engine could not start: no port":                                                                                verdict.New(code.LaunchBroke, text("error", "engine could not start: no port")).From(verdict.New(code.Diagnosed, text("means", "Out of memory."), text("class", "oom"), num("line_no", 3), text("line", "OOM"))),
		"the engine exited on its own (ended by SIGILL); it was built for another CPU, or a trap in one of its libraries stopped it: build it on this machine": verdict.New(code.EngineEnded, text("exit", "ended by SIGILL")).From(verdict.New(code.SignalSays, text("signal", "SIGILL"))),
		"the log could not be saved: disk full":                                                                                                                verdict.New(code.NotKept, text("error", "disk full")).On("log"),
		"shared GPU: process 7 after the engine stopped":                                                                                                       verdict.New(code.GPUShared, text("by", "process 7")),
		"GPU memory was not released within 30s: 3 GB":                                                                                                         verdict.New(code.GPUNotGivenBack, verdict.Dur("within", 30*time.Second), text("by", "3 GB")),
		"prompts of chat were 30 to 34 tokens long instead of 32 (counted by: words)":                                                                          verdict.New(code.LengthOther, num("least", 30), num("most", 34), num("want", 32), text("method", "words")).On("chat"),
		"prompts of chat were 34 tokens long instead of what was requested (counted by: words)":                                                                verdict.New(code.LengthOther, num("most", 34), text("method", "words")).On("chat"),
		"one answer of chat is doubtful (request 0): it counts down":                                                                                           verdict.New(code.Doubtful, num("answers", 1), num("request", 0), text("doubts", "it counts down")).On("chat"),
		"3 answers of chat are doubtful (e.g. request 5): it counts down":                                                                                      verdict.New(code.Doubtful, num("answers", 3), num("request", 5), text("doubts", "it counts down")).On("chat"),
		`chat.o40 request 0: empty ("")`:                                                                                                                       verdict.New(code.Garbage, num("request", 0), text("excerpt", "")).On("chat.o40").From(verdict.New(code.SignEmpty)),
		`request 2, turn 1: "!" over and over, from its beginning ("!!!")`:                                                                                     verdict.New(code.Garbage, num("request", 2), num("turn", 1), text("excerpt", "!!!")).From(verdict.New(code.SignRepeated, text("text", "!"), text("from_start", "yes"))),
		"launch s.B.1: tokens of chat were counted as stream events, as the engine does not count them":                                                        verdict.New(code.LaunchSays).On("s.B.1").From(verdict.New(code.ByEvents).On("chat")),
		"2 of 3 launches: no page":                                                                                                                             verdict.New(code.LaunchesNote, num("launches", 2), num("of", 3)).From(verdict.New(code.Watched, text("text", "no page"))),
		"chat: fast generated 87.65% of the requested tokens, baseline 100%: they did not do the same work":                                                    verdict.New(code.UnequalWork, text("one", "fast"), verdict.Num("generated", 0.87654, "share"), text("other", "baseline"), verdict.Num("other_generated", 1, "share")).On("chat"),
		"still running after the engine exited: burn, sh (3 in total); mxflow ended them":                                                                      verdict.New(code.LeftRunning, num("n", 3), verdict.List("names", []string{"burn", "sh"})),
		"it left /dev/shm/weights, /tmp/a (3 in total, 2.1 GB), which another launch may find":                                                                 verdict.New(code.LeftFiles, num("n", 3), verdict.Num("gb", 2.1, "GB"), verdict.List("paths", []string{"/dev/shm/weights", "/tmp/a"})),
		"an earlier launch left processes that could not be ended and may slow the next one: process 7 did not end. End them and apply again":                  verdict.New(code.Unstopped, text("error", "process 7 did not end")),
		"mxflow itself was changed during the run, and engines inherit that (cpus was 0-1, is 0; nice was 0, is unknown): further launches would not be comparable. Find out what changed it (an engine may have), then apply again from a new shell": verdict.New(code.Altered).From(verdict.New(code.SideDiffers, text("was", "0-1"), text("is", "0")).On("cpus"), verdict.New(code.SideDiffers, text("was", "0"), text("is", "")).On("nice")),
		"image was 1, is unknown": verdict.New(code.SideDiffers, text("was", "1")).On("image"),
		"launches of fast ran in different environments: repo.vllm is 0123456789ab in launch 1 and unknown (see missing in its YAML file) in launch 2. Make them the same and measure again, or list what may differ in accept_fingerprint of the baseline": verdict.New(code.EnvironmentChanged).On("fast").From(verdict.New(code.EntryDiffers, text("one", "1"), text("value", digest), text("other", "2")).On("repo.vllm")),
		"tree vllm changed in a.cu, b.cu (commit 2222222, before 1111111)":                                                    verdict.New(code.TreeChanged, verdict.List("files", []string{"a.cu", "b.cu"}), text("commit", "2222222"), text("before", "1111111")).On("vllm"),
		"tree vllm changed in 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1 more":                                                       verdict.New(code.TreeChanged, verdict.List("files", []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"})).On("vllm"),
		"tree vllm changed in files that no diff names":                                                                       verdict.New(code.TreeChanged, verdict.List("files", nil)).On("vllm"),
		"chat: requests were sent up to 12.3 ms late (p99 4 ms, allowed 5ms): the client could not keep up with the schedule": verdict.New(code.SentLate, verdict.Num("max", 12.345, "ms"), verdict.Num("p99", 4, "ms"), verdict.Dur("limit", 5*time.Millisecond)).On("chat"),
	} {
		if got := Line(r); got != want {
			t.Errorf("%s\n  got  %q\n  want %q", r.Code, got, want)
		}
	}
}

func TestLevelsAndSteps(t *testing.T) {
	text, num := verdict.Text, verdict.Int
	value := text("value", "on")
	for want, r := range map[string]verdict.Reason{
		"KL of decode 0.031 nats/token (allowed ≤ 0.02; baseline against itself 0.0004)": verdict.New(code.QualityOver, verdict.Num("value", 0.031, "nats/token"), verdict.Num("limit", 0.02, "nats/token"), verdict.Text("part", "decode"), verdict.Text("parent", "baseline"), verdict.Num("noise", 0.0004, "nats/token")).On("kl"),
		"argmax match 98% (allowed ≥ 99%)":                                               verdict.New(code.QualityOver, verdict.Num("value", 0.98, "share"), verdict.Num("limit", 0.99, "share"), verdict.Text("least", "yes")).On("argmax_match"),
		`prompt 2, token 3: " sea" from baseline, here the end of the answer`:            verdict.New(code.QualityDiverged, verdict.Int("prompt", 2), verdict.Int("token", 3), verdict.Text("parent", "baseline"), verdict.Text("was", " sea")),
		"prompt 2, token 3: id 7 from baseline, here id 9, 0.5 nats less likely":         verdict.New(code.QualityDiverged, verdict.Int("prompt", 2), verdict.Int("token", 3), verdict.Text("parent", "baseline"), verdict.Int("was_id", 7), verdict.Int("is_id", 9), verdict.Num("gap", 0.5, "nats")),
		`the answer to "Hi" should contain "Paris" but was "no"`:                         verdict.New(code.AnswerLacks, text("prompt", "Hi"), text("expect", "Paris"), text("answer", "no")),
		`the answer to "Hi" is not readable text: empty`:                                 verdict.New(code.AnswerGarbage, text("prompt", "Hi")).From(verdict.New(code.SignEmpty)),
		"the log proves the value of 1 knob":                                             verdict.New(code.Proved, num("knobs", 1), text("by", "log")),
		"what the engine reports proves the value of 2 knobs":                            verdict.New(code.Proved, num("knobs", 2), text("by", "engine")),
		`moe = "on": seen "*x*" (line 7: it is x)`:                                       verdict.New(code.Seen, value, text("glob", "*x*"), num("line_no", 7), text("line", "it is x")).On("moe"),
		`moe = "on" is unproven: tactic was not observed: no line of the log matches`:    verdict.New(code.NotObserved, value, text("name", "tactic")).On("moe").From(verdict.New(code.Unobserved, text("why", "no line of the log matches"))),
		"tg: 3 values, median 57.85 tok/s":                                               verdict.New(code.MetricValues, num("values", 3), verdict.Num("median", 57.85, "tok/s")).On("tg"),

		"timed out after 30m0s":                                                       verdict.New(code.TimedOut, verdict.Dur("limit", 30*time.Minute)),
		"timed out after 1m0s: killed":                                                verdict.New(code.TimedOut, verdict.Dur("limit", time.Minute), text("error", "killed")),
		"branch vllm created from main at abc (first)":                                verdict.New(code.RefMade, text("from", "main"), text("at", "abc (first)")).On("branch vllm"),
		"tag backup created at abc (first)":                                           verdict.New(code.RefMade, text("at", "abc (first)")).On("tag backup"),
		"branch vllm is at abc, which no longer contains def":                         verdict.New(code.RefLacks, text("at", "abc"), text("commit", "def")).On("branch vllm"),
		"tag backup is gone; it was at abc":                                           verdict.New(code.RefGone, text("was", "abc")).On("tag backup"),
		"/r switched from a detached HEAD at abc to v1 at def":                        verdict.New(code.Switched, text("from", ""), text("before", "abc"), text("ref", "v1"), text("at", "def")).On("/r"),
		"r is at abc, no longer on branch main":                                       verdict.New(code.OffBranch, text("on", ""), text("commit", "abc"), text("branch", "main")).On("r"),
		"vllm-dev:1 is 0123456789ab":                                                  verdict.New(code.ImageMade, text("image", "0123456789ab")).On("vllm-dev:1"),
		"2 engines, 3 launches each, against openai.b":                                verdict.New(code.Compared, num("engines", 2), num("launches", 3), text("reference", "openai.b")),
		"not reported: prompts answered from a cache go unnoticed; start it with --x": verdict.New(code.CachedUnreported, text("flag", "--x")),
	} {
		if got := Line(r); got != want {
			t.Errorf("%s\n  got  %q\n  want %q", r.Code, got, want)
		}
	}
}
