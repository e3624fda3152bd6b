package plans

// unknownSetting is a setting that no kind in the plan has.
type unknownSetting struct {
	pair  pair
	kind  string
	known []string
}

// extended is the kind with what the engine's own blocks add to it.
func (l *loader) extended(kind EngineKind, e *Engine) EngineKind {
	for _, word := range keysOf(e.Parts) {
		extends := l.reg.EngineParts[word].Extends
		if extends == nil {
			continue
		}
		for _, b := range e.Parts[word] {
			more := extends(b)
			if kind.Settings != nil {
				kind.Settings = overAttrs(kind.Settings, more.Settings)
			}
			kind.Observed = overObserved(kind.Observed, more.Observed)
			for _, a := range more.Settings {
				if l.addedSettings == nil {
					l.addedSettings = map[string]bool{}
				}
				l.addedSettings[a.Name] = true
			}
		}
	}
	return kind
}

// overAttrs lays attributes over others of the same name, without writing to
// either.
func overAttrs(under, over []Attr) []Attr {
	replaced := map[string]bool{}
	for _, a := range over {
		replaced[a.Name] = true
	}
	var all []Attr
	for _, a := range under {
		if !replaced[a.Name] {
			all = append(all, a)
		}
	}
	return append(all, over...)
}

// overObserved is overAttrs for observations. One without a type has that of the
// one it replaces, or is text.
func overObserved(under, over []Observed) (all []Observed) {
	at := map[string]int{}
	for _, o := range under {
		at[o.Name] = len(all)
		all = append(all, o)
	}
	for _, o := range over {
		i, replaces := at[o.Name]
		switch {
		case !replaces && o.Type == "":
			o.Type = string(String)
		case replaces && o.Type == "":
			o.Type, o.Unit, o.Doc = all[i].Type, all[i].Unit, all[i].Doc
		}
		if replaces {
			all[i] = o
		} else {
			all = append(all, o)
		}
	}
	return all
}

// checkUnknownSettings reports the settings of knobs that neither a kind nor a
// block of an engine knows. It comes when all engines are decoded, since a knob
// may stand before them.
func (l *loader) checkUnknownSettings() {
	for _, u := range l.unknownSettings {
		if !l.addedSettings[u.pair.key] {
			l.failSetting(u)
		}
	}
}

func (l *loader) failSetting(u unknownSetting) {
	l.fail(u.pair.keyAt, "Unknown setting", "An engine of kind %q has no setting %q.%s", u.kind, u.pair.key, l.didYouMean(u.pair.key, u.known))
}
