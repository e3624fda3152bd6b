package plans

import (
	"fmt"
	"strings"
)

// numbered is n lines made from their numbers.
func numbered(n int, line func(i int) string) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}

func squares(n int) string {
	return numbered(n, func(i int) string { return fmt.Sprintf(" a%d = local.a%d * local.a%d\n", i, i-1, i-1) })
}

func doublings(n int) string {
	return numbered(n, func(i int) string { return fmt.Sprintf(" a%d = \"${local.a%d}${local.a%d}\"\n", i, i-1, i-1) })
}

func copies(n int) string {
	return numbered(n, func(i int) string { return fmt.Sprintf(" a%d = \"${local.a}-%d\"\n", i, i) })
}

func unknowns(n int) string {
	return numbered(n, func(i int) string { return fmt.Sprintf(" a%d = local.b%d\n", i, i) })
}

func attributes(n int) string {
	return numbered(n, func(i int) string { return fmt.Sprintf(" a%d = %d\n", i, i) })
}

// phases is a chain: each comes after the one before.
func phases(n int) string {
	return "plan \"p\" {}\n" + numbered(n, func(i int) string {
		return fmt.Sprintf("phase \"p%d\" {\n after = [phase.p%d]\n step \"exec\" \"s\" {\n command = [\"true\"]\n }\n}\n", i, max(1, i-1))
	})
}

// unknownRules is many rules that misspell one of many long names.
func unknownRules(n int) string {
	long := strings.Repeat("x", 50)
	return "plan \"p\" {}\n" + numbered(1000, func(i int) string {
		return fmt.Sprintf("workload \"%s%d\" {\n prompt_tokens = 1\n output_tokens = 1\n}\n", long, i)
	}) + "phase \"a\" {\n gate {\n" + numbered(n, func(i int) string {
		return fmt.Sprintf("rule \"%d\" {\n expr = \"%sy%d.tg > 1\"\n}\n", i, long, i)
	}) + "}\n}\n"
}
