package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// rights are what commands take, by their names: Kafka's operations, and on what.
var rights = map[string]string{
	"topics list":     "DESCRIBE on each topic to show",
	"topics describe": "DESCRIBE on the topic, and DESCRIBE_CONFIGS for its configs",
	"topics create":   "CREATE on the topic or on the cluster",
	"topics alter":    "ALTER_CONFIGS on the topic for --set and --unset, ALTER on it for --partitions",
	"topics delete":   "DESCRIBE and DELETE on the topic, or DELETE on the cluster",
	"topics trim":     "DELETE on the topic, and DESCRIBE on it without --partitions",
	"groups list":     "DESCRIBE on each group to show, or on the cluster",
	"groups describe": "DESCRIBE on the group and on the topics that it reads",
	"groups reset":    "DESCRIBE on the group and on the topics, with --execute READ on both",
	"groups delete":   "DELETE on the group",
	"groups forget":   "DESCRIBE and DELETE on the group, and READ on the topics",
	"offsets list":    "DESCRIBE on each topic",
}

// tableOfRights says where all rights are.
const tableOfRights = "(kafka-gateway apis --acl has the table)"

// nameOf returns a command's words, without the program's.
func nameOf(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "kafka-gateway ") }

// refused adds to refusals, which name what was asked for, by which command, by whom,
// and what it takes: what is missing is a right of that user.
func (o *options) refused(c *cobra.Command, err error) error {
	end := "; "
	if strings.Contains(err.Error(), "\n") {
		end = "\n"
	}
	return fmt.Errorf("%w%s%s was asked for by %s; it takes %s %s", err, end, nameOf(c), o.connection.who(), rights[nameOf(c)], tableOfRights)
}

// partial is a result of which the caller may not see something beside what it asked
// for. That is no failure.
type partial interface {
	// unseen says what is not shown, and what that takes; "" where all is shown.
	unseen() string
}

// mention tells on standard error what a result does not show.
func (o *options) mention(w io.Writer, found result) {
	p, ok := found.(partial)
	if !ok {
		return
	}
	if what := p.unseen(); what != "" {
		fmt.Fprintln(w, "kafka-gateway: note:", Printable(fmt.Sprintf("%s; asked for by %s %s", what, o.connection.who(), tableOfRights)))
	}
}

// denied tells that the cluster refused something for want of a permission.
func denied(err error) bool {
	var code *kerr.Error
	return errors.As(plain(err), &code) && isDenial(code)
}

func isDenial(code *kerr.Error) bool { return strings.HasSuffix(code.Message, "_AUTHORIZATION_FAILED") }

// brief returns the code of a denial that nobody has said more about: its description
// only says the code again. Of other errors it reports false.
func brief(err error) (error, bool) {
	if auth, ok := err.(*kadm.AuthError); ok {
		err = auth.Err
	}
	code, ok := err.(*kerr.Error)
	if !ok || !isDenial(code) {
		return nil, false
	}
	return explained{code, ""}, true
}

// repeats tells whether the text with a denial says no more than its code, as
// "Authorization failed.", "Topic authorization failed." and the like.
func repeats(text string) bool {
	return strings.HasSuffix(strings.ToLower(strings.TrimRight(text, ".] ")), "authorization failed")
}
