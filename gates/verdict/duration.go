package verdict

import (
	"fmt"
	"time"
)

// Rough formats seconds for people: "41 s", "2 min 05 s".
func Rough(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}

// Between formats a range of seconds, in one unit if that tells the ends apart.
func Between(low, high float64) string {
	most, unit := inUnit(high, high)
	least, of := inUnit(low, high)
	if least == "0" {
		least, of = inUnit(low, low)
	}
	switch {
	case least == most && of == unit:
		return "about " + most + " " + unit
	case of != unit:
		return least + " " + of + " to " + most + " " + unit
	}
	return least + "–" + most + " " + unit
}

// Lasting formats seconds in one unit: "12 min", "3.5 h".
func Lasting(seconds float64) string {
	n, unit := inUnit(seconds, seconds)
	return n + " " + unit
}

// inUnit converts seconds to the unit used for a duration of this size.
func inUnit(seconds, size float64) (number, unit string) {
	switch {
	case size < 90:
		return fmt.Sprintf("%.0f", seconds), "s"
	case size < 90*60:
		return fmt.Sprintf("%.0f", seconds/60), "min"
	case size < 10*3600:
		return fmt.Sprintf("%.1f", seconds/3600), "h"
	}
	return fmt.Sprintf("%.0f", seconds/3600), "h"
}
