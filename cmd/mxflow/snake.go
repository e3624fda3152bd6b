package main

import (
	"reflect"
	"strings"
	"time"
	"unicode"
)

// snake is a value as JSON shows it with the names of plans: fields of structs
// in snake_case, those left empty left out, durations as text.
func snake(v any) any { return snakeValue(reflect.ValueOf(v)) }

func snakeValue(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return snakeValue(v.Elem())
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				out[snakeName(f.Name)] = snakeValue(v.Field(i))
			}
		}
		return out
	case reflect.Slice:
		out := []any{}
		for i := range v.Len() {
			out = append(out, snakeValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for it := v.MapRange(); it.Next(); {
			out[it.Key().String()] = snakeValue(it.Value())
		}
		return out
	}
	return v.Interface()
}

// snakeName is ShmSize as shm_size, IgnoreEOS as ignore_eos and JQ as jq.
func snakeName(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		upper := unicode.IsUpper(r)
		begins := i > 0 && upper && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
