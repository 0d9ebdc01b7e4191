package cli

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Lag is what groups describe asks for.
func Lag(ctx context.Context, client *kgo.Client, groups ...string) (kadm.DescribedGroupLags, error) {
	return cluster{kadm.NewClient(client)}.Lag(ctx, groups...)
}

// Who is as whom a client talks to the cluster.
func (c Connection) Who() string { return c.who() }

// Offers is the advice for who logs in by another mechanism.
func Offers(mechanisms []string) string { return offers(mechanisms) }

// Rights is what each command takes.
func Rights() map[string]string { return rights }

// Leaves are the names of the commands that do something.
func Leaves() (leaves []string) {
	for _, family := range command(nil).Commands() {
		for _, c := range family.Commands() {
			leaves = append(leaves, nameOf(c))
		}
	}
	return leaves
}
