package main

import (
	"html/template"
	"io"
)

// benchPage stands by itself: no script, no font and no picture from elsewhere.
var benchPage = template.Must(template.New("bench").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{.Model}}: mxflow bench</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; background: #fff }
table { border-collapse: collapse; width: 100% }
th, td { text-align: right; padding: .35rem .6rem; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
.invalid { color: #a40000; font-weight: 600 }
svg { max-width: 100%; height: auto }
</style>
</head>
<body>
<h1>{{.Model}}</h1>
<p>{{.URL}} ({{.Engine}}), {{.Started.Format "2006-01-02 15:04 MST"}}, {{.Tool}}, seed {{.Seed}}</p>
{{range .Tables}}<table>
<thead><tr>{{range .Head}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{end}}{{range .Words}}<p{{if and (ge (len .) 8) (eq (slice . 0 8) "invalid:")}} class="invalid"{{end}}>{{.}}</p>
{{end}}{{.Plots}}
</body>
</html>
`))

func (r *benchResult) html(w io.Writer) error {
	page := struct {
		*benchResult
		Tables []benchTable
		Words  []string
		Plots  template.HTML
	}{benchResult: r, Tables: r.tables(), Words: r.words()}
	if picture, err := r.picture(".svg"); err == nil {
		page.Plots = template.HTML(picture)
	}
	return benchPage.Execute(w, page)
}
