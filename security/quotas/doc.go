// Package quotas bounds what clients use, as Kafka does: bytes produced and fetched
// (KIP-13), the time that requests take (KIP-124), partitions created and deleted
// (KIP-599), and connections of an address (KIP-612).
//
// # Whose quota
//
// A quota is for a user, a client id, both together, or the default of each
// (KIP-55); [Quotas] keeps them in the backend, for kafka-configs to manage
// (KIP-546). Of all that fit a client one counts, the first of
//
//	user and client id · user and any client id · user ·
//	any user and client id · any user and any client id · any user ·
//	client id · any client id · what the configuration says
//
// All clients to which the same quota applies under the same name share one account:
// a quota of a user is for all connections of that user together. One of "any user"
// is not shared by users: each has an account.
//
// # How much is too much
//
// What a client uses is summed up over the last windows, 11 of a second each. Above
// the quota the client is throttled for as long as it takes until its rate, with the
// clock alone running on, is the quota again: sum/quota less the time that the sum
// was for. Requests are not refused for that; their answers say how long, and the
// connection is not read for the time (KIP-219). Request time is throttled by one
// window at a time. Partitions come from a bucket instead, which holds what the
// quota gives in all windows together, so that they can be refused.
//
// # Memory
//
// Clients choose their client ids, so the number of accounts is bounded. An account
// without use in all its windows is forgotten, which changes nothing. While there
// are too many, the new clients of a user share an account; those of other users have
// theirs.
package quotas
