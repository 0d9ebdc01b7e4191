// Package acls is the authorizer that keeps access control lists, as Kafka's
// StandardAuthorizer does (KIP-11, KIP-290, KIP-679, KIP-1276).
//
// An ACL allows or denies a principal, from a host, one operation on the resources
// that its pattern concerns: on the one of a name, on all whose names begin with a
// prefix, or, with the literal name "*", on all of a type. To decide, those ACLs
// count that concern the resource and are about the principal or about User:*, from
// the client's address, a network that it lies in, or from anywhere:
//
//   - one that denies the operation, or ALL, decides: no;
//   - else one that allows it, or ALL, decides: yes. READ, WRITE, DELETE and ALTER
//     allow DESCRIBE, too, and ALTER_CONFIGS allows DESCRIBE_CONFIGS; denying them
//     denies nothing else;
//   - else the answer is no. Only where authorization.allow_if_no_acl is set and no
//     ACL at all concerns the resource, it is yes.
//
// ACLs are kept in the backend, as entries of the kind "acl", and in memory, as an
// index that is made anew at each change and never changed: questions are answered
// without a lock, and take no longer for ACLs about other names.
package acls
