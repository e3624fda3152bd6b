// Package inbrowser opens pages in Chromium. It is a module of its own, so that who builds mxflow
// or runs its tests needs no driver of browsers.
package inbrowser

import (
	"bytes"
	"context"
	_ "embed" // axe-core
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mxflow/mxflow/internal/testing/enginetest"
	"github.com/mxflow/mxflow/internal/testing/must"
	"github.com/mxflow/mxflow/internal/testing/pagetest"
	"github.com/mxflow/mxflow/runtime/report"
	"github.com/mxflow/mxflow/runtime/report/page"
)

//go:embed testdata/axe.min.js
var axe string

// browser is the Chromium of this machine.
func browser() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no chromium in PATH")
}

// opened is a browser for all cases of a test: starting one takes a second.
func opened(t testing.TB) context.Context {
	path, missing := browser()
	enginetest.Require(t, "chromium", missing)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("disable-dev-shm-usage", true))
	alloc, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	must.Do(t, chromedp.Run(ctx))
	return ctx
}

func tabOf(t testing.TB, browser context.Context) context.Context {
	tab, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	return tab
}

// complaints are what a page writes to the console or throws.
type complaints struct {
	mu    sync.Mutex
	lines []string
}

func (c *complaints) listen(ctx context.Context) {
	add := func(format string, args ...any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lines = append(c.lines, fmt.Sprintf(format, args...))
	}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			add("exception: %s", ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			add("console.%s: %+v", ev.Type, ev.Args)
		case *log.EventEntryAdded:
			add("%s: %s %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text)
		}
	})
}

func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.lines) > 0 {
		t.Errorf("the console has:\n%s", strings.Join(c.lines, "\n"))
	}
}

// served gives a page an address, as a file of a web server has one.
func served(t testing.TB, text string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestInBrowser: every figure is drawn, on a phone in light and on a desk in dark, without a word on the console,
// without a page that scrolls sideways, and without what keeps people with a keyboard or a screen reader out.
func TestInBrowser(t *testing.T) {
	ctx := opened(t)
	s, plan := pagetest.Whole(t)
	m := page.Of(report.SummaryOf(s.Store, plan, time.Now()), nil)
	var out bytes.Buffer
	must.Do(t, page.Write(&out, m))
	text := out.String()
	t.Run("in view", func(t *testing.T) { inViewAtOnce(t, tabOf(t, ctx), text) })
	t.Run("follows", func(t *testing.T) { follows(t, tabOf(t, ctx), m) })
	url := served(t, text)
	// A theme and a width have nothing to do with each other.
	for theme, width := range map[string]int64{"light": 390, "dark": 1440} {
		t.Run(theme, func(t *testing.T) {
			tab := tabOf(t, ctx)
			said := &complaints{}
			said.listen(tab)
			var empty, over, titles, strange []string
			var figures, whole, window int
			var findings, coloured string
			var shot []byte
			err := chromedp.Run(tab, log.Enable(), chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().
					WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
				chromedp.Navigate(url),
				chromedp.Evaluate(`document.querySelector("figure").scrollIntoView()`, nil),
				chromedp.WaitReady(`figure .plot > svg`), // what is in view is drawn by itself
				chromedp.Evaluate(
					`window.dispatchEvent(new Event("beforeprint")); document.querySelectorAll("details").forEach((d) => { d.open = true; }); null`, nil),
				chromedp.Evaluate(`new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(0)), 0))`,
					nil, awaited),
				chromedp.Evaluate(`document.querySelectorAll("figure").length`, &figures),
				chromedp.Evaluate(
					`[...document.querySelectorAll("figure[data-kind=lines]")].filter((f) => !f.textContent.startsWith("Launches")).map((f) => f.closest("details.feature").querySelector("h3").textContent + ": " + f.querySelector("figcaption").textContent)`, &titles),
				chromedp.Evaluate(
					`[...document.querySelectorAll("figure[data-kind=lines] .key span")].filter((s) => s.textContent.startsWith("baseline") !== (s.querySelector("circle").getAttribute("fill") === "var(--base)")).map((s) => s.textContent)`, &strange),
				chromedp.Evaluate(
					`[...document.querySelectorAll("figure")].filter((f) => !f.querySelector(".plot > svg :is(path, circle, rect)") || !f.querySelector(".numbers td")).map((f) => f.dataset.kind)`, &empty),
				chromedp.Evaluate(
					`[...document.querySelectorAll(".axis svg")].filter((a) => { const all = [...a.querySelectorAll("text:not(.what)")].map((t) => t.getBoundingClientRect()); return all.some((b, i) => i > 0 && b.left < all[i - 1].right && b.right > all[i - 1].left && b.top === all[i - 1].top); }).map((a) => [...a.children].map((t) => t.textContent).join(" "))`, &over),
				chromedp.Evaluate(
					`[...document.querySelectorAll("figure[data-kind=matrices] .plot > svg g[aria-label=cell] rect, figure[data-kind=matrices] .plot > svg rect")].map((r) => (r.getAttribute("fill") || "").replace("var(--base)", "").replace("var(--accent)", "better").replace("var(--fail)", "worse")).join(" ")`, &coloured),
				chromedp.Evaluate(`document.documentElement.scrollWidth`, &whole),
				chromedp.Evaluate(`window.innerWidth`, &window),
				chromedp.Evaluate(axe+`;0`, nil),
				chromedp.Evaluate(
					`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("\n   ")).join("\n"))`, &findings, awaited),
				chromedp.ActionFunc(func(ctx context.Context) error {
					if !testing.Verbose() {
						return nil // it takes longer than all else
					}
					return chromedp.FullScreenshot(&shot, 100).Do(ctx)
				}),
			)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(t.ArtifactDir(), theme+".png"), shot, 0o644); err != nil {
				t.Fatal(err)
			}
			if figures < 8 || len(empty) > 0 {
				t.Errorf("of %d figures these are empty: %v", figures, empty)
			}
			if got := strings.Join(titles, ", "); got != "moe: gpu.power_w over the last launch of each arm" {
				t.Errorf("only where both arms are traced and differ there is something to see, and these are drawn: "+
					"%q", got)
			}
			if len(strange) > 0 {
				t.Errorf("these are in the colour of the other arm: %q", strange)
			}
			if len(over) > 0 {
				t.Errorf("labels of an axis overlap: %q", over)
			}
			if strings.Join(strings.Fields(coloured), " ") != "better worse" {
				t.Errorf("these speed-ups are coloured, and only what launches show may be: %q", coloured)
			}
			if whole > window {
				t.Errorf("the page is %d px wide, the window %d", whole, window)
			}
			if findings != "" {
				t.Errorf("axe-core found:\n%s", findings)
			}
			said.none(t)
		})
	}
}

// inViewAtOnce: what is in view is drawn before any observer is called, as a browser
// that takes a picture calls none; what is not costs no time to open.
func inViewAtOnce(t *testing.T, tab context.Context, text string) {
	var first bool
	var drawn, figures int
	err := chromedp.Run(tab, chromedp.EmulateViewport(1440, 1400),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := cdppage.AddScriptToEvaluateOnNewDocument(`window.IntersectionObserver = class { observe() {} }`).
				Do(ctx)
			return err
		}),
		chromedp.Navigate(served(t, text)),
		chromedp.Evaluate(`document.querySelector("figure .plot > svg") !== null`, &first),
		chromedp.Evaluate(`document.querySelectorAll(".plot:has(> svg)").length`, &drawn),
		chromedp.Evaluate(`document.querySelectorAll("figure").length`, &figures))
	if err != nil {
		t.Fatal(err)
	}
	if !first || drawn == figures {
		t.Errorf("in view: %v; %d of %d figures are drawn", first, drawn, figures)
	}
}

// follows: a page that is served shows what goes on, and what was recorded since.
func follows(t *testing.T, tab context.Context, m *page.Model) {
	revision, over := "1", make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			m.Revision = revision
			must.Do(t, page.Write(w, m))
			revision, m.Title = "2", "renewed"
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"revision\":\"2\",\"line\":\"launch 3 of 8\",\"made\":2,\"left\":6}\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-over:
			case <-r.Context().Done():
			}
			fmt.Fprint(w, "data: {\"revision\":\"2\",\"line\":\"\"}\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	t.Cleanup(server.Close)
	said := &complaints{}
	said.listen(tab)
	var line, title string
	limited, cancel := context.WithTimeout(tab, 20*time.Second)
	defer cancel()
	if err := chromedp.Run(limited, log.Enable(), chromedp.EmulateViewport(1440, 4000),
		chromedp.Navigate(server.URL+"/"),
		chromedp.Poll(
			`document.querySelector("h1").textContent === "renewed" && document.querySelector("figure .plot > svg") !== null`, nil),
		chromedp.Evaluate(`document.querySelector("#now p").textContent`, &line), chromedp.Title(&title)); err != nil {
		t.Fatal(err)
	}
	if line != "launch 3 of 8" || !strings.HasPrefix(title, "mxfp4") {
		t.Errorf("%q, %q", line, title)
	}
	close(over)
	if err := chromedp.Run(limited, chromedp.Poll(`document.querySelector("#now.final") !== null`, nil),
		chromedp.Evaluate(`document.querySelector("#now.final").innerText`, &line)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(line, "fail") || !strings.Contains(line, m.Answer.String()) {
		t.Errorf("what stays is %q", line)
	}
	said.none(t)
	// The stream of events ends with the tab, and the server waits for it.
	must.Do(t, chromedp.Cancel(tab))
}

func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }
