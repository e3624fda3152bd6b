package enginetest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"
)

const onLinux = goruntime.GOOS == "linux"

// marked lists the processes that carry a launch's mark, as "pid (name)". It
// looks for itself, with none of package engine's code, and finds nothing
// outside Linux.
func marked(launch string) []string {
	var found []string
	want := []byte("MXFLOW_LAUNCH=" + launch)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		environ, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || filepath.Base(dir) == strconv.Itoa(os.Getpid()) {
			continue
		}
		for kv := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(kv, want) {
				name, _ := os.ReadFile(filepath.Join(dir, "comm"))
				found = append(found, fmt.Sprintf("%s (%s)", filepath.Base(dir), bytes.TrimSpace(name)))
				break
			}
		}
	}
	return found
}

// listens reports whether something accepts connections at url.
func listens(url string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "http://"), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

var client = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true},
	Timeout:   time.Minute,
}

// get is the body of a page that answers 200.
func get(url string) (string, error) {
	resp, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s", resp.Status)
	}
	return string(body), err
}
