package console

import (
	"bytes"
	"embed"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"net/http"
	"time"
)

//go:embed pages/*.html
var pages embed.FS

//go:embed assets/*
var assets embed.FS

// asset serves an embedded file. Browsers ask each time whether it has changed.
func asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	sum := fnv.New64a()
	_, _ = sum.Write(content)
	w.Header().Set("Etag", fmt.Sprintf(`"%x"`, sum.Sum64()))
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
}

// views are the templates of the pages, by name.
type views struct {
	now    func() time.Time
	byName map[string]*template.Template
}

func newViews(now func() time.Time) (*views, error) {
	v := &views{now: now, byName: map[string]*template.Template{}}
	frame, err := template.New("frame").Funcs(functions(now)).ParseFS(pages, "pages/frame.html", "pages/parts.html")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"overview", "topics", "topic", "groups", "group", "live", "security", "apis", "failure"} {
		t, err := frame.Clone()
		if err == nil {
			t, err = t.ParseFS(pages, "pages/"+name+".html")
		}
		if err != nil {
			return nil, err
		}
		v.byName[name] = t
	}
	return v, nil
}

// framed is what the frame around a page needs.
type framed struct {
	View string
	At   time.Time
	Page any
}

// render writes a page; live-part is the part of the live page that changes.
func (v *views) render(w io.Writer, view string, data any) error {
	if view == "live-part" {
		return v.byName["live"].ExecuteTemplate(w, "live-part", data)
	}
	return v.byName[view].ExecuteTemplate(w, "frame.html", framed{View: view, At: v.now(), Page: data})
}
