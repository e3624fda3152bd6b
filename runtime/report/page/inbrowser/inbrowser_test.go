// Package inbrowser opens pages in Chromium. It is a module of its own, so that who builds mxflow
// or runs its tests needs no driver of browsers.
package inbrowser

import (
	"bytes"
	"context"
	_ "embed" // axe-core
	encodingcsv "encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
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

// widths are those of a small phone to a desk; the last is the text of an A4 page in print.
var widths = []int64{320, 390, 480, 640, 768, 900, 1024, 1280, 1600, 703}

// TestInBrowser: on every width, in both themes and on paper, without a script that has to run first, no two labels
// overlap, nothing is wider than the page, and nothing keeps people with a keyboard or a screen reader out.
func TestInBrowser(t *testing.T) {
	ctx := opened(t)
	s, plan := pagetest.Whole(t)
	m := page.Of(report.SummaryOf(s.Store, plan, time.Now()), nil, nil)
	var out bytes.Buffer
	must.Do(t, page.Write(&out, m))
	t.Run("follows", func(t *testing.T) { follows(t, tabOf(t, ctx), m) })
	t.Run("downloads", func(t *testing.T) { downloads(t, tabOf(t, ctx), served(t, out.String()), m) })
	url := served(t, out.String())
	for _, theme := range []string{"light", "dark"} {
		t.Run(theme, func(t *testing.T) {
			tab := tabOf(t, ctx)
			said := &complaints{}
			said.listen(tab)
			var empty, titles, strange, coloured []string
			var figures int
			var findings, anchored string
			must.Do(t, chromedp.Run(tab, log.Enable(), chromedp.EmulateViewport(1440, 900), media(theme, ""),
				chromedp.Navigate(url),
				chromedp.Evaluate(`new Promise((done) => { document.querySelectorAll("details").forEach((d) => { d.open = false; }); addEventListener("hashchange", () => done([...document.querySelectorAll("details[open]")].map((d) => d.id).join())); location.hash = "feature-fp8"; })`, &anchored, awaited),
				chromedp.Evaluate(`document.querySelectorAll("details").forEach((d) => { d.open = true; }); null`, nil),
				chromedp.Evaluate(`document.querySelectorAll("figure").length`, &figures),
				chromedp.Evaluate(`[...document.querySelectorAll("figure:has(polyline.trace) figcaption")].map((c) => c.closest("details").querySelector("h3").textContent + ": " + c.textContent)`, &titles),
				chromedp.Evaluate(`[...document.querySelectorAll("figure:has(polyline) .key span:not(.unit)")].filter((s) => s.textContent.startsWith("baseline") !== (s.querySelector(".base") !== null)).map((s) => s.textContent)`, &strange),
				chromedp.Evaluate(`[...document.querySelectorAll("figure")].filter((f) => !f.querySelector(".dot circle, polyline.trace, .chart rect, td.better") || !f.querySelector("td, .what b")).map((f) => f.textContent)`, &empty),
				chromedp.Evaluate(`[...document.querySelectorAll(".heat td:is(.better, .worse)")].map((c) => c.classList[0] + " " + c.textContent)`, &coloured),
				chromedp.Evaluate(axe+`;0`, nil),
				chromedp.Evaluate(
					`axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary).join("\n   ")).join("\n"))`, &findings, awaited)))
			if anchored != "feature-fp8" {
				t.Errorf("a link to fp8 opens %q", anchored)
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
			if got := strings.Join(coloured, ", "); got != "better 1.42×, worse 0.91×" {
				t.Errorf("these speed-ups are coloured, and only what launches show may be: %q", got)
			}
			if findings != "" {
				t.Errorf("axe-core found:\n%s", findings)
			}
			for i, width := range widths {
				paper := ""
				if i == len(widths)-1 {
					paper = "print"
				}
				var over, off, wide []string
				var shot []byte
				must.Do(t, chromedp.Run(tab, chromedp.EmulateViewport(width, 900), media(theme, paper),
					chromedp.Evaluate(overlaps, &over),
					chromedp.Evaluate(aside, &off), chromedp.Evaluate(tooWide, &wide),
					chromedp.ActionFunc(func(ctx context.Context) error {
						if !testing.Verbose() {
							return nil // it takes longer than all else
						}
						return chromedp.FullScreenshot(&shot, 100).Do(ctx)
					})))
				file := filepath.Join(t.ArtifactDir(), fmt.Sprint(theme, width, paper, ".png"))
				must.Do(t, os.WriteFile(file, shot, 0o644))
				if len(over) > 0 {
					t.Errorf("%d px %s: labels overlap: %q", width, paper, over)
				}
				if len(off) > 0 {
					t.Errorf("%d px %s: axes that are not below their bars: %q", width, paper, off)
				}
				if len(wide) > 0 {
					t.Errorf("%d px %s: wider than the page: %q", width, paper, wide)
				}
			}
			said.none(t)
		})
	}
}

// overlaps are the pairs of labels of a drawing whose boxes meet, tooWide what ends right of the page and does
// not scroll by itself, aside the axes that do not end where their rows do.
const (
	overlaps = `[...document.querySelectorAll("svg.track, .plot, .graph")].flatMap((d) => { const all = [...d.querySelectorAll("text")].filter((t) => t.checkVisibility()).map((t) => [t.textContent, t.getBoundingClientRect()]); return all.flatMap(([a, p], i) => all.slice(i + 1).filter(([, q]) => p.left < q.right && q.left < p.right && p.top < q.bottom - 2 && q.top < p.bottom - 2).map(([b]) => a + " / " + b)); })`
	aside    = `[...document.querySelectorAll(".chart .axis .track")].filter((a) => { const at = a.getBoundingClientRect(); return at.width && [...a.closest(".chart").querySelectorAll("li:not(.axis) .track")].some((o) => { const is = o.getBoundingClientRect(); return is.width && (Math.abs(is.left - at.left) > 1 || Math.abs(is.right - at.right) > 1); }); }).map((a) => a.textContent)`
	tooWide  = `[...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .hidden")).map((e) => e.outerHTML.slice(0, 120))`
)

func media(theme, kind string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithMedia(kind).
		WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}})
}

// downloads: the page gives out every launch, as a file that a table reads.
func downloads(t *testing.T, tab context.Context, url string, m *page.Model) {
	var csv, name string
	must.Do(t, chromedp.Run(tab, chromedp.EmulateViewport(1440, 900), chromedp.Navigate(url),
		chromedp.Evaluate(`new Promise((done) => { const made = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((text) => { window.given = text; }); return made(blob); }; HTMLAnchorElement.prototype.click = function () { done(this.download); }; document.querySelector("[data-get=csv]").dispatchEvent(new MouseEvent("click", {bubbles: true})); })`, &name, awaited),
		chromedp.Poll(`window.given`, &csv)))
	rows, err := encodingcsv.NewReader(strings.NewReader(csv)).ReadAll()
	must.Do(t, err)
	if !strings.HasSuffix(name, ".csv") || len(rows) != 1+len(m.Data.Rows) {
		t.Fatalf("%q has %d rows of %d launches", name, len(rows), len(m.Data.Rows))
	}
	at := slices.Index(rows[0], "chat.tg")
	if at < 0 || rows[1][at] != fmt.Sprint(m.Data.Rows[0][at]) {
		t.Errorf("%q is not the speed of %v", rows[1], m.Data.Rows[0])
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
			`document.querySelector("h1").textContent === "renewed"`, nil),
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
