package plans

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

type tagged struct {
	Name  string        `hcl:"name,label" doc:"Its name."`
	Later int           `hcl:"later,optional" group:"b" default:"3" unit:"tokens" min:"0" max:"9" doc:"The engine's 'p512' of [\"a\"]."`
	First string        `hcl:"first" oneof:"one|two" needs:"a word." doc:"A word."`
	Wait  time.Duration `hcl:"wait,optional" default:"2m" doc:"How long."`
	List  []int         `hcl:"list,optional" default:"1" doc:"Numbers."`
	Refs  []string      `hcl:"refs,optional" ref:"phase" doc:"Phases."`
	Some  string        `hcl:"some,optional" kinds:"a|b" doc:"Of some."`
	_     struct{}      `hcl:"own,optional" type:"rule" doc:"Read by hand."`
	Bound *int          // no attribute
	Range Range
}

func TestTagsDescribeAttributes(t *testing.T) {
	var got []string
	for _, f := range Fields(reflect.TypeFor[tagged]()) {
		a := f.Attr
		got = append(got, fmt.Sprintf("%s:%s:%v:%v:%v:%s:%v:%v:%s", a.Name, a.Type, f.Label, a.Required, a.Default, a.Unit, a.MinSet, f.Kinds, a.Doc))
	}
	want := []string{
		"name:string:true:false:<nil>::false:[]:Its name.",
		"first:string:false:true:<nil>::false:[]:A word.",
		"wait:duration:false:false:2m::false:[]:How long.",
		"list:list of integers:false:false:1::false:[]:Numbers.",
		"refs:list of references:false:false:<nil>::false:[]:Phases.",
		"some:string:false:false:<nil>::false:[a b]:Of some.",
		"own:rule:false:false:<nil>::false:[]:Read by hand.",
		"later:integer:false:false:3:tokens:true:[]:The engine's `p512` of [\"a\"].",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFieldsTakePlainData(t *testing.T) {
	block := tagged{Name: "kept"}
	Fill(&block)
	if block.Later != 3 || block.Wait != 2*time.Minute || !reflect.DeepEqual(block.List, []int{1}) || block.Name != "kept" || block.Refs != nil {
		t.Errorf("%+v", block)
	}
	var into struct {
		Texts []string
		Map   map[string]string
		Unset map[string]*string
		Other []float64
	}
	v := reflect.ValueOf(&into).Elem()
	for i, value := range []any{[]any{"a", "b"}, map[string]any{"k": "v"}, map[string]any{"k": "v", "gone": nil}, []any{}} {
		Set(v.Field(i), value)
	}
	if gone, has := into.Unset["gone"]; !reflect.DeepEqual(into.Texts, []string{"a", "b"}) || into.Map["k"] != "v" || *into.Unset["k"] != "v" || !has || gone != nil || into.Other != nil {
		t.Errorf("%+v", into)
	}
}

// TestBoundsAreTheConstants that other packages count with.
func TestBoundsAreTheConstants(t *testing.T) {
	most := map[string]float64{
		"prompt_tokens": MaxTokens, "output_tokens": MaxTokens, "depth": MaxTokens, "system_tokens": MaxTokens,
		"requests": MaxRequests, "warmup": MaxRequests, "max_errors": MaxRequests,
		"concurrency": MaxConcurrency, "max_concurrency": MaxConcurrency, "rate": MaxRate,
	}
	for _, a := range Attrs(Workload{}) {
		if want, has := most[a.Name]; has && a.Max != want || a.Name == "rate" && a.Min != MinRate {
			t.Errorf("%s is bounded by %v and %v", a.Name, a.Min, a.Max)
		}
	}
}
