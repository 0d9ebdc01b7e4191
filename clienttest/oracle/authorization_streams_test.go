package oracle

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// subjects is what TestAuthorization goes through.
var subjects = slices.Concat(recordSubjects, toolSubjects)

// allowedUnderGrants lists the differences of TestAuthorization, as allowed does.
var allowedUnderGrants = []allowance{}

// recordSubjects are the keys of producers and consumers.
var recordSubjects = []subject{
	{"Coordinator", nothing, []question{
		{name: "of a group", min: 0, max: 6, build: func(_ *side, v int16) kmsg.Request {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.CoordinatorKey, r.CoordinatorKeys = "g", []string{"g", "h"}
			return r
		}, grants: []string{"describe group g", "read group g*"}},
	}},
}

func nothing(*side) []kmsg.Request { return nil }
