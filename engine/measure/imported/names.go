package imported

import (
	"fmt"
	"strconv"
	"strings"
)

// named makes a metric's names elements of an address, which a file may name as
// it likes, and its unit a word that does not steer a terminal.
func (m *Metric) named() {
	m.Name, m.Unit = word(m.Name), Printable(m.Unit)
	stats := map[string]float64{}
	for _, stat := range m.StatNames() {
		name := word(stat)
		for n := 2; ; n++ {
			if _, taken := stats[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s_%d", word(stat), n)
		}
		stats[name] = m.Stats[stat]
	}
	m.Stats = stats
}

// nameMetrics makes the names of a cell's metrics elements of addresses, and
// unique.
func (c *Cell) nameMetrics() {
	taken := map[string]bool{}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		m.named()
		name := m.Name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", m.Name, n)
		}
		m.Name = name
		taken[name] = true
	}
}

// Printable keeps what a foreign file says from steering a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// word makes an element of an address of a text: letters, digits and _, and a
// letter first.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, text)
	if text == "" || text[0] >= '0' && text[0] <= '9' {
		text = "c" + text
	}
	return text
}
