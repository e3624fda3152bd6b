package plans

// settings are the options of an engine kind.
func (w *schemaWriter) settings(list []Attr) object {
	properties := object{}
	for _, a := range list {
		properties[a.Name] = w.attr(a, &BlockDoc{})
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

// openSettings are settings to which something in the plan adds others, or gives
// those of the same name another type: those that are known are offered.
func openSettings(list []Attr) object {
	properties := object{}
	for _, a := range list {
		properties[a.Name] = object{"description": attrText(a)}
	}
	return object{"type": "object", "properties": properties}
}

// chooseSettings makes s, the body of d, accept the settings of the kind alone
// unless a block stands in it that adds others, or may be made by a dynamic one.
func (w *schemaWriter) chooseSettings(s object, d *BlockDoc) {
	a := d.Attr("settings")
	var adding []any
	for _, b := range d.Blocks {
		if b.AddsSettings {
			adding = append(adding, object{"required": []string{b.Type}})
		}
	}
	if a == nil || d.Settings == nil || adding == nil {
		return
	}
	settings := func(options object) object {
		return object{"properties": object{a.Name: object{"anyOf": []any{options, refTo("template"), object{"type": "null"}}}}}
	}
	s["properties"].(object)[a.Name] = object{"description": attrText(*a)}
	s["if"] = object{"anyOf": append(adding, object{"required": []string{dynamicType}})}
	s["then"] = settings(openSettings(d.Settings))
	s["else"] = settings(w.settings(d.Settings))
}
