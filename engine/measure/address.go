package measure

import "strings"

// SplitAddress takes the address of a metric apart: "chat.c16" and "tg" of
// chat.c16.tg. A cell's address has dots of its own, a metric's name has none.
func SplitAddress(address string) (cell, metric string) {
	i := strings.LastIndexByte(address, '.')
	return address[:max(0, i)], address[i+1:]
}
