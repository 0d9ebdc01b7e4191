package cli_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/app/cli"
	"github.com/iggykafka/gateway/app/gatewaytest"
	"github.com/iggykafka/gateway/core/server"
	"github.com/iggykafka/gateway/security/ssl/ssltest"
)

// guest is a gateway with access control lists, and carol, who may describe topics and
// groups whose names begin with "her", and nothing else. Group billing has committed for
// both topics, her-orders for the one that is not hers, her-herorders for the other.
// Group her-members has a member, which reads the topic that is not hers.
type guest struct {
	t     *testing.T
	flags []string
}

func newGuest(t *testing.T) guest {
	t.Helper()
	var sasl string
	open := gatewaytest.Start(t, gatewaytest.ACLs(),
		gatewaytest.Config(func(c *app.Config) { c.Groups.Coordinator = "durable" }),
		gatewaytest.Listener("sasl", server.ListenerConfig{Protocol: "SASL_PLAINTEXT"}, &sasl))
	client, err := kgo.NewClient(kgo.SeedBrokers(open))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	altered, err := admin.AlterUserSCRAMs(t.Context(), nil,
		[]kadm.UpsertSCRAM{{User: "carol", Mechanism: kadm.ScramSha256, Iterations: 4096, Password: password}})
	require.NoError(t, err)
	require.NoError(t, altered.Error())
	for _, topic := range []string{"orders", "herorders"} {
		_, err = admin.CreateTopic(t.Context(), 1, 1, nil, topic)
		require.NoError(t, err)
		for _, group := range []string{"billing", "her-" + topic} {
			require.NoError(t, admin.CommitAllOffsets(t.Context(), group, kadm.OffsetsFromRecords(kgo.Record{Topic: topic})))
		}
	}
	_, err = admin.CreateACLs(t.Context(), kadm.NewACLs().Topics("her").Groups("her").ResourcePatternType(kadm.ACLPatternPrefixed).
		Allow("User:carol").AllowHosts().Operations(kadm.OpDescribe))
	require.NoError(t, err)
	joined := make(chan struct{})
	join := sync.OnceFunc(func() { close(joined) })
	member, err := kgo.NewClient(kgo.SeedBrokers(open), kgo.ConsumerGroup("her-members"), kgo.ConsumeTopics("orders"),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { join() }))
	require.NoError(t, err)
	t.Cleanup(member.Close)
	<-joined
	file := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(password), 0o600))
	return guest{t, []string{"--bootstrap", sasl, "--user", "carol", "--password-file", file, "--mechanism", "SCRAM-SHA-256"}}
}

func (g guest) run(command string) (out string, refusal error) {
	g.t.Helper()
	return execute(g.t, append(strings.Fields(command), g.flags...)...)
}

// noted is run of a command that has a note, too.
func (g guest) noted(command string) (out, errs string, refusal error) {
	g.t.Helper()
	var shown, noted bytes.Buffer
	refusal = cli.Run(g.t.Context(), append(strings.Fields(command), g.flags...), nil, &shown, &noted)
	return shown.String(), noted.String(), refusal
}

// Every command says what it takes.
func TestRights(t *testing.T) {
	t.Parallel()
	require.ElementsMatch(t, slices.Collect(maps.Keys(cli.Rights())), cli.Leaves())
}

// Every refusal says what was refused, of what, and to whom.
func TestRefusals(t *testing.T) {
	t.Parallel()
	g := newGuest(t)
	const topic, group = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"
	for command, want := range map[string]string{
		"topics describe orders":                                        "orders: " + topic,
		"topics describe orders herorders":                              "orders: " + topic,
		"topics create new":                                             "new: " + topic,
		"topics create new --dry-run":                                   "new: " + topic,
		"topics alter orders --set a=1":                                 "orders: " + topic,
		"topics alter herorders --set a=1":                              "herorders: " + topic,
		"topics alter orders -p 3":                                      "orders: " + topic,
		"topics alter herorders -p 3":                                   "herorders: " + topic,
		"topics delete orders":                                          "orders: " + topic,
		"topics delete herorders":                                       "herorders: " + topic,
		"topics trim orders --before 0":                                 "orders: " + topic,
		"topics trim orders --before 0 -p 0":                            "orders: " + topic,
		"topics trim herorders --before 0":                              "herorders/0: " + topic,
		"offsets list orders":                                           "orders: " + topic,
		"offsets list orders herorders":                                 "orders: " + topic,
		"groups describe billing":                                       "billing: " + group,
		"groups describe billing her-herorders":                         "billing: " + group,
		"groups describe her-members":                                   "her-members: its topics: " + topic,
		"groups delete billing":                                         "billing: " + group,
		"groups delete her-orders":                                      "her-orders: " + group,
		"groups forget billing --topic orders":                          "billing: " + group,
		"groups forget her-herorders -t herorders":                      "her-herorders: " + group,
		"groups reset billing --to-latest":                              "billing: " + group,
		"groups reset her-herorders -t orders --to-latest":              "orders: " + topic,
		"groups reset her-herorders -t herorders --to-latest --execute": "her-herorders: " + group,
	} {
		_, _, err := g.noted(command)
		require.ErrorContains(t, err, want, command)
		words := strings.Fields(command)
		require.ErrorContains(t, err, words[0]+" "+words[1]+" was asked for by user carol, logged in by SCRAM-SHA-256", command)
		require.Equal(t, 1, strings.Count(err.Error(), "carol"), command)
		require.Equal(t, 1, strings.Count(err.Error(), "AUTHORIZATION_FAILED"), command)
		require.NotContains(t, err.Error(), "uthorization failed", command)
		require.NotContains(t, err.Error(), ".;", command)
		require.Contains(t, err.Error(), "logged in by SCRAM-SHA-256; it takes "+cli.Rights()[words[0]+" "+words[1]]+" (kafka-gateway apis --acl has the table)", command)
		require.NotContains(t, err.Error(), password)
	}
}

// What is not refused of several is shown.
func TestRefusedInPart(t *testing.T) {
	t.Parallel()
	g := newGuest(t)
	var topics []struct{ Topic string }
	const table = "(kafka-gateway apis --acl has the table)"
	const note = "kafka-gateway: note: configs of herorders are not shown, which takes DESCRIBE_CONFIGS on the topic; " +
		"asked for by user carol, logged in by SCRAM-SHA-256 " + table + "\n"
	out, errs, err := g.noted("topics describe orders herorders --json")
	require.EqualError(t, err, "orders: TOPIC_AUTHORIZATION_FAILED; topics describe was asked for by user carol, logged in by SCRAM-SHA-256; "+
		"it takes DESCRIBE on the topic, and DESCRIBE_CONFIGS for its configs "+table)
	require.Equal(t, note, errs)
	require.NoError(t, json.Unmarshal([]byte(out), &topics))
	require.Len(t, topics, 1)
	require.Equal(t, "herorders", topics[0].Topic)
	require.Contains(t, out, `"configs": null`)
	out, errs, err = g.noted("topics describe herorders")
	require.NoError(t, err, "what was asked for is shown")
	require.Equal(t, note, errs)
	require.Regexp(t, `(?m)^config +-$`, out)
	var groups []struct{ Group string }
	out, err = g.run("groups describe billing her-herorders --json")
	require.ErrorContains(t, err, "billing: ")
	require.NoError(t, json.Unmarshal([]byte(out), &groups))
	require.Len(t, groups, 1)
	require.Equal(t, "her-herorders", groups[0].Group)
}

// As whom a command asks is told as far as it knows, and without secrets.
func TestWho(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	secret := g.write(t, "password", password)
	properties := g.write(t, "plain.properties", "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.jaas.config="+
		"org.apache.kafka.common.security.plain.PlainLoginModule required username=\"alice\" password=\"x\";\n")
	subject := func(c *x509.Certificate) {
		for _, a := range []struct {
			kind  []int
			value any
		}{
			{[]int{2, 5, 4, 10}, "acme"}, {[]int{2, 5, 4, 11}, "ops"}, {[]int{2, 5, 4, 3}, "bob"},
			{[]int{1, 2, 840, 113549, 1, 9, 1}, asn1.RawValue{Tag: asn1.TagIA5String, Bytes: []byte("bob@acme.com")}},
		} {
			c.Subject.ExtraNames = append(c.Subject.ExtraNames, pkix.AttributeTypeAndValue{Type: a.kind, Value: a.value})
		}
	}
	bob := ssltest.NewAuthority(t).Issue(t, subject).Write(t, t.TempDir())
	for _, test := range []struct {
		how  cli.Connection
		want string
	}{
		{cli.Connection{}, "nobody in particular: there was no login"},
		{cli.Connection{CA: g.ca}, "nobody in particular: there was no login"},
		{cli.Connection{User: "bob", PasswordFile: secret}, "user bob, logged in by SCRAM-SHA-512"},
		{cli.Connection{CommandConfig: properties}, "user alice, logged in by PLAIN"},
		{cli.Connection{CommandConfig: properties, TokenFile: secret}, "the user of the token in " + secret},
		{cli.Connection{CommandConfig: properties, User: "bob", PasswordFile: secret, Mechanism: "SCRAM-SHA-256"}, "user bob, logged in by SCRAM-SHA-256"},
		{cli.Connection{Certificate: g.client.Certificate, Key: g.client.Key}, "the owner of the certificate CN=alice, if the listener asks for one"},
		{cli.Connection{Certificate: bob.Certificate, Key: bob.Key},
			"the owner of the certificate 1.2.840.113549.1.9.1=#160c626f624061636d652e636f6d,CN=bob,OU=ops,O=acme, if the listener asks for one"},
		{cli.Connection{PasswordFile: "/nonexistent"}, "a user that is not known any more"},
	} {
		require.Equal(t, test.want, test.how.Who())
	}
}
