package machine

import (
	"runtime"
	"sync"
	"testing"
)

// A process without CAP_SYS_NICE, which most are, reads no timer slack of another thread than the one
// it reads on; a reading that moved between threads now and then found none.
func TestInheritedIsTheSameWhileThreadsSwitch(t *testing.T) {
	want := Inherited()["timer slack"]
	if want == "" {
		t.Skip("this kernel shows no timer slack")
	}
	var readers sync.WaitGroup
	for range 4 * runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for range 200 {
				if got := Inherited()["timer slack"]; got != want {
					t.Errorf("timer slack: got %q, want %q", got, want)
					return
				}
			}
		})
	}
	readers.Wait()
}
