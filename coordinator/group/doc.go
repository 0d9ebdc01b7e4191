// Package group is the state machine of one classic consumer group: the rules
// behind JoinGroup, SyncGroup, Heartbeat, LeaveGroup, OffsetCommit's group check
// and what DescribeGroups and ListGroups show.
//
// # Contract
//
// A [Group] takes the time and an [Event] and returns [Effect] values: answers
// to the calls that asked. It has no clock, no lock and no goroutine, draws no
// random numbers and knows no wire type, so the same state and the same input
// always give the same output. Its tests are text files.
//
//	effects := g.Step(now, group.Heartbeat{Call: 7, Request: r})
//
// The caller owes four things:
//
//   - Steps one at a time, with times that never go back.
//   - A [Call] number for each event that no unanswered call of the group has.
//   - While [Group.Parked] is not 0, a [Group.Tick] at [Group.Next]. That is how
//     a waiting member learns that another one died.
//   - [Disconnect] for a call whose asker went away.
//
// Every event but Disconnect is answered by exactly one Effect with its Call
// number: in the same step, or, for a Join or Sync that is parked, in a later
// one. There are no Go errors: a refusal is a [coordinator.Code].
//
// # Absent groups
//
// An absent group and an empty one are the same thing. A step on a fresh
// [New] group answers as Kafka does for a group that it does not know, and a
// group that is [Group.Empty] after a step is to be thrown away.
//
// # Life of a group
//
//	                 first admission              join completes
//	absent ───▶ Preparing, initial ─── delay ───▶ Completing ─── leader syncs ───▶ Stable
//	                 ▲     ▲                          │                              │
//	  last member ───┘     └── join, leave, expiry ───┴──────────────────────────────┘
//
// Expiry runs only inside Step and Tick ([Group.Next] says when it would matter),
// and a deadline has passed once it is not after now, whether or not anybody
// looked before.
//
// # Ownership
//
// What is kept of an event is copied, and never written to again. So results
// share their bytes with the group, and must not be modified.
//
// KIP-62 (rebalance timeout), KIP-134 (initial delay), KIP-345 (static members),
// KIP-394 (member id required), KIP-559 (protocol in SyncGroup), KIP-814 (skip
// the assignment). Not here: KIP-848 groups, whose protocol is another.
package group
