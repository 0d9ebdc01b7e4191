package acls

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/security"
)

// kind is the kind of the backend's entries that hold ACLs.
const kind = "acl"

// entry is an ACL as it is stored; enumerations are Kafka's numbers.
type entry struct {
	Type       int8   `json:"type"`
	Pattern    int8   `json:"pattern"`
	Name       string `json:"name"`
	Principal  string `json:"principal"`
	Host       string `json:"host"`
	Operation  int8   `json:"operation"`
	Permission int8   `json:"permission"`
}

// encode returns an ACL's entry, whose name is made from the value, so that an ACL has
// one entry however often it is created.
func encode(acl security.ACL) (name string, value []byte) {
	value, err := json.Marshal(entry{
		int8(acl.Type), int8(acl.Pattern), acl.Name, acl.Principal, acl.Host, int8(acl.Operation), int8(acl.Permission),
	})
	if err != nil {
		panic(err) // numbers and texts can be encoded
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:]), value
}

// decode reads an entry. One that does not say what its name was made from was not
// written by a gateway, or has been damaged.
func decode(name string, value []byte) (security.ACL, error) {
	var e entry
	if err := json.Unmarshal(value, &e); err != nil {
		return security.ACL{}, fmt.Errorf("the stored ACL %s cannot be read: %w", name, err)
	}
	acl := security.ACL{
		Type: kmsg.ACLResourceType(e.Type), Pattern: kmsg.ACLResourcePatternType(e.Pattern), Name: e.Name,
		Principal: e.Principal, Host: e.Host, Operation: kmsg.ACLOperation(e.Operation), Permission: kmsg.ACLPermissionType(e.Permission),
	}
	if err := check(acl); err != nil {
		return security.ACL{}, fmt.Errorf("the stored ACL %s is none: %w", name, err)
	}
	if made, _ := encode(acl); made != name {
		return security.ACL{}, fmt.Errorf("the stored ACL %s has the content of %s", name, made)
	}
	return acl, nil
}
