package clienttest

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
)

// groupsScenario has one member, then two, then one again. After each change the members' own view, the
// client's description of the group and the observer's must agree.
func groupsScenario(r *run) {
	name, group := r.topic("group"), Unique(r, "group")
	first := r.join(group, name)
	r.settle(group, name, first)

	second := r.join(group, name)
	r.settle(group, name, first, second)

	groups, err := r.client.Groups(r.ctx)
	require.NoError(r, err, "list groups")
	require.Contains(r, groups, group)

	// What is written now reaches the owner of its partition, and nobody else.
	sent := records(start())
	require.NoError(r, r.client.Produce(r.ctx, name, "none", sent), "produce")
	var got []Record
	for len(got) < len(sent) {
		for _, member := range []*member{first, second} {
			polled := member.once(r)
			for _, record := range polled.Records {
				require.Contains(r, polled.Partitions, record.Partition, "a record of a partition that the member does not own")
			}
			got = append(got, polled.Records...)
		}
	}
	requireRecords(r, sent, got, r.traits)

	require.NoError(r, second.Close(), "close")
	r.settle(group, name, first)
	require.NoError(r, first.Close(), "close")
}

// settle polls the members until they share the three partitions evenly and the group is described so.
func (r *run) settle(group, topic string, members ...*member) {
	why := ""
	for {
		require.NoError(r, r.ctx.Err(), "the group did not settle with %d members: %s", len(members), why)
		owned := r.pollAll(members)
		if why = uneven(owned); why != "" {
			continue
		}
		described, err := r.client.Describe(r.ctx, group, topic)
		require.NoError(r, err, "describe group")
		slices.SortFunc(described.Members, slices.Compare)
		slices.SortFunc(owned, slices.Compare)
		if described.State != "Stable" || !slices.EqualFunc(described.Members, owned, slices.Equal) {
			why = fmt.Sprintf("described as %+v while the members own %v", described, owned)
			continue
		}
		observed := r.Observer.Describe(r, group, topic)
		slices.SortFunc(observed.Members, slices.Compare)
		if why = fmt.Sprintf("the observer saw %+v", observed); observed.State == "Stable" && slices.EqualFunc(observed.Members, owned, slices.Equal) {
			return
		}
	}
}

// uneven says why partitions 0, 1 and 2 are not spread evenly, or "".
func uneven(owned [][]int32) string {
	all := slices.Sorted(slices.Values(slices.Concat(owned...)))
	if !slices.Equal(all, []int32{0, 1, 2}) {
		return fmt.Sprintf("the members own %v", owned)
	}
	for _, partitions := range owned {
		if len(partitions) > 3/len(owned)+1 || len(partitions) < 3/len(owned) {
			return fmt.Sprintf("the members own %v", owned)
		}
	}
	return ""
}

// member is a Member with the test's patience.
type member struct{ Member }

func (r *run) join(group, topic string) *member {
	m, err := r.client.Join(r.ctx, group, topic)
	require.NoError(r, err, "join group")
	r.Cleanup(func() { _ = m.Close() }) // for a test that failed; closing twice is allowed
	return &member{m}
}

// once polls once; partitions come sorted.
func (m *member) once(r *run) Polled {
	polled, err := m.Poll(r.ctx)
	require.NoError(r, err, "poll")
	slices.Sort(polled.Partitions)
	return polled
}

// poll polls until count records came.
func (m *member) poll(r *run, count int) []Record {
	var got []Record
	for len(got) < count {
		require.NoError(r, r.ctx.Err(), "%d of %d records came", len(got), count)
		got = append(got, m.once(r).Records...)
	}
	return got
}

// pollAll polls all members at the same time, as a rebalance needs them all, and returns what each owns.
func (r *run) pollAll(members []*member) [][]int32 {
	type answer struct {
		Polled
		error
	}
	answers := make([]chan answer, len(members))
	for i, m := range members {
		answers[i] = make(chan answer, 1)
		go func() {
			polled, err := m.Poll(r.ctx)
			answers[i] <- answer{polled, err}
		}()
	}
	owned := make([][]int32, len(members))
	for i := range members {
		a := <-answers[i]
		require.NoError(r, a.error, "poll")
		owned[i] = slices.Sorted(slices.Values(a.Partitions))
	}
	return owned
}
