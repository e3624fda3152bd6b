package arms

import (
	"strings"
	"testing"
)

func TestImages(t *testing.T) {
	for _, c := range []struct{ given, want, says string }{
		{"a:1 b:2", "a:1 b:2", ""},
		{"r/a:1 :2", "r/a:1 r/a:2", ""},
		{"localhost:5000/a :2", "localhost:5000/a localhost:5000/a:2", ""},
		{"a:1@sha256:00 @sha256:01", "a:1@sha256:00 a@sha256:01", ""},
		{"a", "", "--image is given 1 time"},
		{"a b c", "", "--image is given 3 times"},
		{":1 a", "", `":1" is not the name of an image`},
		{"a:1 :1", "", "both images are a:1"},
		{"a a:latest", "", "both images are a"},
		{"v/a:1 docker.io/v/a:1", "", "nothing to compare"},
	} {
		got, err := Images(strings.Split(c.given, " "))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v; want %q, %q", c.given, got, err, c.want, c.says)
		}
	}
	if _, err := Images([]string{"a", " "}); err == nil {
		t.Error("an image without a name is one")
	}
}
