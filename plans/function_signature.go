package plans

import "strings"

// FunctionSignatures are the functions that expressions may call, each with the
// names of its arguments: "join(separator, lists…)".
func FunctionSignatures() (list []string) {
	functions := (&evalScope{}).functions()
	for _, name := range keysOf(functions) {
		var args []string
		for _, p := range functions[name].Params() {
			args = append(args, p.Name)
		}
		if p := functions[name].VarParam(); p != nil {
			args = append(args, p.Name+"…")
		}
		list = append(list, name+"("+strings.Join(args, ", ")+")")
	}
	return list
}
