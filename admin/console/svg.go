package console

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
)

// Drawings are made of numbers alone, never of text that clients wrote. They
// repeat what stands beside them in words, so they are hidden from screen readers.
// Colours are the style sheet's.
const (
	sparkWidth, sparkHeight = 120, 24
	barWidth, barHeight     = 100, 8
)

// spark draws a line of values, the highest of which touches the top.
func spark(values []float64) template.HTML {
	if len(values) < 2 {
		return ""
	}
	top := slices.Max(values)
	if top <= 0 {
		top = 1
	}
	step := float64(sparkWidth) / float64(len(values)-1)
	var line strings.Builder
	for i, v := range values {
		if i > 0 {
			line.WriteByte(' ')
		}
		fmt.Fprintf(&line, "%.1f,%.1f", float64(i)*step, 1+(sparkHeight-2)*(1-max(v, 0)/top))
	}
	return template.HTML(fmt.Sprintf( // #nosec G203 -- numbers alone
		`<svg class="spark" viewBox="0 0 %d %d" width="%d" height="%d" aria-hidden="true" focusable="false">`+
			`<polygon points="0,%d %s %d,%d"/><polyline points="%s"/></svg>`,
		sparkWidth, sparkHeight, sparkWidth, sparkHeight, sparkHeight, line.String(), sparkWidth, sparkHeight, line.String()))
}

// bar draws a share, 0 to 1. What is not nothing can be seen.
func bar(share float64) template.HTML {
	width := min(max(share, 0), 1) * barWidth
	if share > 0 {
		width = max(width, 1.5)
	}
	return template.HTML(fmt.Sprintf( // #nosec G203 -- numbers alone
		`<svg class="bar" viewBox="0 0 %d %d" width="%d" height="%d" preserveAspectRatio="none" aria-hidden="true" focusable="false">`+
			`<rect class="bar-all" width="%d" height="%d" rx="2"/><rect class="bar-part" width="%.1f" height="%d" rx="2"/></svg>`,
		barWidth, barHeight, barWidth, barHeight, barWidth, barHeight, width, barHeight))
}
