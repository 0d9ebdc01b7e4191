package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// sink takes one figure of a measurement.
type sink func(figure, unit string, value float64)

// report collects the figures of all rounds, in the order of their first
// appearance.
type report struct {
	targets []*target
	rounds  int
	keys    []key
	values  map[key]map[string][]float64 // by target name, one a round
}

type key struct{ figure, unit string }

func newReport(targets []*target, rounds int) *report {
	return &report{targets: targets, rounds: rounds, values: map[key]map[string][]float64{}}
}

func (r *report) sink(t *target, round int) sink {
	return func(figure, unit string, value float64) {
		k := key{figure, unit}
		if r.values[k] == nil {
			r.keys, r.values[k] = append(r.keys, k), map[string][]float64{}
		}
		r.values[k][t.name] = append(r.values[k][t.name], value)
	}
}

// row is one line of the table, and one object of the JSON output.
type row struct {
	Figure string               `json:"figure"`
	Unit   string               `json:"unit"`
	Values map[string][]float64 `json:"values"` // by target, one a round
	Median map[string]float64   `json:"median"`
	Ratio  *float64             `json:"ratio_a_to_b,omitempty"` // median over the rounds
	RatioC *float64             `json:"ratio_a_to_c,omitempty"`
}

func (r *report) rows() []row {
	var out []row
	for _, k := range r.keys {
		w := row{Figure: k.figure, Unit: k.unit, Values: r.values[k], Median: map[string]float64{}}
		for name, values := range w.Values {
			w.Median[name] = median(values)
		}
		w.Ratio, w.RatioC = ratio(w.Values["A"], w.Values["B"]), ratio(w.Values["A"], w.Values["C"])
		out = append(out, w)
	}
	return out
}

// ratio is the median of the ratios of a to b, nil where there is none.
func ratio(a, b []float64) *float64 {
	if len(a) != len(b) {
		return nil
	}
	var ratios []float64
	for i := range a {
		if b[i] != 0 {
			ratios = append(ratios, a[i]/b[i])
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	m := median(ratios)
	return &m
}

func (r *report) print(w io.Writer) {
	for _, t := range r.targets {
		fmt.Fprintf(w, "%s = %s\n", t.name, t.shown)
	}
	fmt.Fprintf(w, "medians of %d round(s)\n\n", r.rounds)
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tab, "figure\tunit\t")
	for _, t := range r.targets {
		fmt.Fprintf(tab, "%s\t", t.name)
	}
	for _, other := range letters[1:max(1, len(r.targets))] {
		fmt.Fprintf(tab, "A/%s\t", other)
	}
	fmt.Fprintln(tab)
	for _, row := range r.rows() {
		fmt.Fprintf(tab, "%s\t%s\t", row.Figure, row.Unit)
		for _, t := range r.targets {
			if v, ok := row.Median[t.name]; ok {
				fmt.Fprintf(tab, "%s\t", short(v))
			} else {
				fmt.Fprint(tab, "–\t")
			}
		}
		for _, ratio := range []*float64{row.Ratio, row.RatioC}[:max(0, len(r.targets)-1)] {
			if ratio != nil {
				fmt.Fprintf(tab, "%.2f\t", *ratio)
			} else {
				fmt.Fprint(tab, "–\t")
			}
		}
		fmt.Fprintln(tab)
	}
	tab.Flush()
}

func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4f", v)
}

// median returns the middle value; percentile the value below which a share p
// of them lies. Neither changes its argument.
func median(values []float64) float64 { return percentile(values, 0.5) }

func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if p == 0.5 && len(sorted)%2 == 0 {
		return (sorted[len(sorted)/2-1] + sorted[len(sorted)/2]) / 2
	}
	return sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]
}
