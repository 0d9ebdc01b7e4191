package console

import (
	"html/template"

	"github.com/iggykafka/gateway/coordinator"
)

// offsetsOnly is the state, in filters and on pages, of a group that the
// coordinator does not know and that has committed offsets.
const offsetsOnly coordinator.State = "NoMembers"

// states are what can be filtered by, in the order in which they are listed.
var states = []coordinator.State{
	coordinator.Stable, coordinator.PreparingRebalance, coordinator.CompletingRebalance, coordinator.Empty, offsetsOnly,
}

// stateWords are states as people read them.
var stateWords = map[coordinator.State]string{
	coordinator.Stable:              "Stable",
	coordinator.PreparingRebalance:  "Preparing rebalance",
	coordinator.CompletingRebalance: "Completing rebalance",
	coordinator.Empty:               "Empty",
	coordinator.Dead:                "Dead",
	offsetsOnly:                     "No members",
}

// stateTag shows a state: in words, and by a class of the style sheet.
func stateTag(s coordinator.State) template.HTML {
	words, ok := stateWords[s]
	if !ok {
		return template.HTML(template.HTMLEscapeString(string(s))) // #nosec G203 -- escaped, or one of the constants above
	}
	return template.HTML(`<span class="state state-` + string(s) + `">` + words + `</span>`) // #nosec G203 -- escaped, or one of the constants above
}
