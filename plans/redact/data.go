package redact

import (
	"reflect"
	"slices"
)

// Any is a copy of v without secrets in its strings, at whatever depth. Fields
// named in keep stay as they are; so do keys of maps, and strings of types other
// than string, which are words of a program and no text of anybody's.
func (r *Redactor) Any(v any, keep ...string) any {
	if r == nil || v == nil {
		return v
	}
	return r.copy(reflect.ValueOf(v), keep).Interface()
}

// Clean takes secrets out of the struct that p points to, in place: its strings,
// lists and maps are replaced, those behind them that others may hold are not
// written to.
func (r *Redactor) Clean(p any, keep ...string) {
	if r == nil {
		return
	}
	if v := reflect.ValueOf(p); v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
		r.clean(v.Elem(), keep)
	}
}

func (r *Redactor) clean(v reflect.Value, keep []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || slices.Contains(keep, v.Type().Field(i).Name) {
			continue
		}
		switch f.Kind() {
		case reflect.Pointer:
			if !f.IsNil() && f.Elem().Kind() == reflect.Struct {
				r.clean(f.Elem(), keep)
				continue
			}
		case reflect.Struct:
			r.clean(f, keep)
			continue
		}
		f.Set(r.copy(f, keep))
	}
}

var textType = reflect.TypeFor[string]()

func (r *Redactor) copy(v reflect.Value, keep []string) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != textType {
			return v
		}
		return reflect.ValueOf(r.Text(v.String()))
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Interface {
			c.Set(r.copy(v.Elem(), keep))
			return c
		}
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(r.copy(v.Elem(), keep))
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(r.copy(v.Index(i), keep))
		}
		return c
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), r.copy(it.Value(), keep))
		}
		return c
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		c.Set(v)
		for i := range c.NumField() {
			if f := c.Field(i); f.CanSet() && !slices.Contains(keep, v.Type().Field(i).Name) {
				f.Set(r.copy(v.Field(i), keep))
			}
		}
		return c
	default:
		return v
	}
}
