// Package embedded is a backend in files of its own: one directory, one owner,
// no other process.
//
// # Promises
//
// What has been acknowledged survives the end of the process, kill -9
// included: it has been handed to the operating system. With Config.Sync it
// has reached the disk as well, so that it also survives the loss of power, and
// readers see it only then. Topics, their configs and ids, the cluster id and
// blocks of producer ids always reach the disk before they are acknowledged.
//
// Without Config.Sync a loss of power may take the records and commits of the
// last moments, like those of a Kafka broker. What is left is sound: no record
// is damaged, moved or stored twice, and producers may send again what was lost.
//
// # Layout
//
//	LOCK                              held by the owner
//	meta/                             a pebble store: all that is keyed
//	topics/<id>/<partition>-<base>.log  a segment: record batches, one after another
//	topics/<id>/<partition>-<base>.<n>.log  the same, written by the n-th compaction of that place
//
// A batch is stored as it came, with its base offset and leader epoch written
// in, so that reading is one pread. The segments are the truth about records.
// Pebble holds what can be found out from them again: a sparse index, the state
// of producers and how far each partition was known good, all written behind
// the appends in groups. A start reads what lies beyond that mark, checks every
// CRC and brings the rest up to date; after a clean end there is nothing to read.
//
// Pebble alone knows of topics, committed offsets, states of groups, the log
// starts that DeleteRecords has set (a segment goes when all of it lies below), and
// of the files that compaction has put in the place of others.
//
// # Compaction
//
// Topics with "compact" in their cleanup.policy are compacted as by Kafka's cleaner:
// of each key the latest record stays, at its offset. A few segments at a time are
// written anew beside the old ones, brought to the disk, and put in their place by one
// commit of pebble; who reads an old file goes on with it. Batches keep their first and
// last offset, so between two of them offsets may be missing. The last batch of a
// segment and of each idempotent producer stays, if only as a header. A batch with
// tombstones gets the time from which on they may go (KIP-534). As in Kafka, records
// without a key, which such a topic has from before it was one, do not stay.
//
// # Errors
//
// Besides the errors that the contract names, a full or failing disk gives
// backend.ErrStorage. A partition whose files are damaged refuses everything
// with ErrStorage, after one line in the log that says which file it is and
// what to do; all other partitions are served. Before Start and after Close
// every method gives backend.ErrUnavailable.
package embedded
