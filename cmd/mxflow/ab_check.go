package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mxflow/mxflow/engine/endpoint"
	"github.com/mxflow/mxflow/steps"
)

// check turns flags into arms and a question, and refuses what cannot be meant
// before anything is started.
func (q *ab) check(c *cobra.Command) (err error) {
	if err := q.numbers(); err != nil {
		return err
	}
	if q.claim, err = parseClaim(q.metric, q.claimed); err != nil {
		return err
	}
	q.counts()
	set := c.Flags().Changed
	switch {
	case q.aURL != "" || q.bURL != "":
		return q.checkURLs()
	case isURL(q.a) || isURL(q.b):
		return errors.New("--a and --b are commands that start a server, and this is the address of one: for servers that run already write --a-url http://… --b-url http://…")
	case q.a == "" || q.b == "":
		return errors.New("give both commands: --a 'KERNEL=marlin ./serve.sh' --b 'KERNEL=gemm ./serve.sh'")
	case q.launches != 0 && (q.launches < fewestLaunches || q.launches > mostLaunches):
		return fmt.Errorf("--launches: %d is not between %d, where the first look is, and %d, for which the test is calibrated; --quick makes one of each", q.launches, fewestLaunches, mostLaunches)
	case q.quick && set("launches"):
		return errors.New("--quick is one launch of each: leave out --launches")
	}
	for i, side := range []struct{ flag, text string }{{"a", q.a}, {"b", q.b}} {
		if q.arms[i], err = parseArm(side.flag, side.text); err != nil {
			return err
		}
	}
	if err := q.both(); err != nil {
		return err
	}
	if _, err := shapeOf(q.arms[0], q.arms[1]); err != nil {
		return err
	}
	fixed, err := fixedURL(q.url)
	if err != nil {
		return err
	}
	if q.kind, err = kindOf(q.asked, q.arms); err != nil {
		return err
	}
	if err := q.observable(); err != nil {
		return err
	}
	var args []string
	if q.port, args, err = settlePorts(&q.arms, fixed); err != nil {
		return err
	}
	if q.shape, err = shapeOf(q.arms[0], q.arms[1]); err != nil {
		return err
	}
	q.shape.Args = args
	q.commandLine = q.line()
	return nil
}

// observable refuses names of --changes that no server of the kind says anything
// of, and proofs that every log would hold.
func (q *ab) observable() error {
	var names []string
	for _, p := range q.kind.Observe {
		names = append(names, p.Name)
	}
	for _, g := range slices.Concat(q.mustSeeA, q.mustSeeB) {
		if strings.Trim(g, "*? ") == "" {
			return fmt.Errorf("--must-see-a, --must-see-b: %q is found in every log, so it proves nothing: name text that only one of the two logs", g)
		}
	}
	for _, c := range q.changes {
		if !slices.Contains(names, c) {
			return fmt.Errorf("--changes: servers of kind %s say nothing of %q, but of %s; --kind is another kind", q.kind.Name, c, strings.Join(names, ", "))
		}
	}
	return nil
}

// both adds the variables of --env to both arms.
func (q *ab) both() error {
	for _, text := range q.env {
		m := assignment.FindStringSubmatch(text)
		if m == nil {
			return fmt.Errorf("--env: %q is no assignment: write NAME=value", text)
		}
		if steps.SecretName(m[1]) && len(text) > len(m[0]) {
			return fmt.Errorf("--env: %s looks like a secret, and would be recorded and stand in the plan. Export it before instead: the servers inherit what mxflow has", m[1])
		}
		for _, arm := range q.arms {
			if _, own := arm.Env[m[1]]; !own {
				arm.Env[m[1]] = text[len(m[0]):]
			}
		}
	}
	return nil
}

func (q *ab) numbers() error {
	for _, n := range []struct {
		flag              string
		value, least, top int
	}{
		{"pp", q.pp, 1, 20_000_000},
		{"tg", q.tg, 1, 20_000_000},
		{"depth", q.depth, 0, 20_000_000},
		{"concurrency", q.concurrency, 1, 100_000},
		{"requests", q.requests, 0, 1_000_000},
		{"warmup", q.warmup, 0, 1_000_000},
		{"launches", q.launches, 0, 1000},
	} {
		if n.value < n.least || n.value > n.top {
			return fmt.Errorf("--%s: %d is not between %d and %d", n.flag, n.value, n.least, n.top)
		}
	}
	switch {
	case !slices.Contains([]string{"completions", "chat"}, q.api):
		return fmt.Errorf("--api: %q is neither completions nor chat", q.api)
	case !slices.Contains([]string{"", "baseline", "absolute", "off"}, q.coherence):
		return fmt.Errorf("--coherence: %q is none of baseline, absolute and off", q.coherence)
	case !slices.Contains([]string{"own", "cold", "shared"}, q.caches):
		return fmt.Errorf("--caches: %q is none of own, cold and shared", q.caches)
	case q.timeout < 0 || q.maxLag < 0:
		return errors.New("time limits must be above zero")
	case q.tg < 2 && slices.Contains([]string{"tg", "tpot", "itl"}, q.metric):
		return fmt.Errorf("--metric: an answer of one token has no %s: give --tg at least 2", q.metric)
	}
	return nil
}

// counts fills in how many requests a launch takes: more where single requests
// vary more.
func (q *ab) counts() {
	q.counted = [2]bool{q.requests != 0, q.warmup != 0}
	if q.requests == 0 {
		q.requests = 10
		if slices.Contains([]string{"pp", "ttft", "pp_total"}, q.metric) {
			q.requests = 30
		}
		q.requests = max(q.requests, 4*q.concurrency)
	}
	if q.warmup == 0 {
		q.warmup = max(3, q.concurrency)
	}
}

// fixedURL is the port of --url, 0 without one.
func fixedURL(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if err := endpoint.CheckURL(text); err != nil {
		return 0, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return 0, fmt.Errorf("--url: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	port, portErr := strconv.Atoi(u.Port())
	switch {
	case u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback() && !ip.IsUnspecified()):
		return 0, fmt.Errorf("--url: %s is another machine, and mxflow starts the commands on this one; servers that run already are compared with --a-url and --b-url", u.Hostname())
	case u.Scheme != "http" || portErr != nil:
		return 0, fmt.Errorf("--url: write where both listen, such as http://localhost:8000, not %q", text)
	}
	return port, nil
}

// isURL tells an address from a command.
func isURL(text string) bool {
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}
