package producerstate

import "github.com/iggykafka/gateway/core/record"

// Draft is what a table will be once batches that are about to be stored are
// stored: each of them may follow or repeat those in front of it. The table
// stays as it is until Commit, and must not change before. Of several drafts
// one can be committed.
type Draft struct {
	table   *Table
	from    int64 // base offset that the first of the batches is expected to get
	changed map[int64]*Producer
}

// Draft begins a draft; from is the offset that its first batch is expected to
// get.
func (t *Table) Draft(from int64) *Draft { return &Draft{table: t, from: from} }

// Check is Table.Check with the draft's batches in front. drafted says that the
// answer depends on them; an offset of at least from is the expected one then.
func (d *Draft) Check(b *record.Batch, now, expiration int64) (offset int64, duplicate, drafted bool, err error) {
	p, drafted := d.changed[b.ProducerID]
	if !drafted {
		p = d.table.byID[b.ProducerID]
	}
	offset, duplicate, err = p.check(b, now, expiration)
	return offset, duplicate, drafted, err
}

// Add notes a batch that is about to be stored, with its expected base offset.
func (d *Draft) Add(b *record.Batch, now, expiration int64) {
	p := d.changed[b.ProducerID]
	if p == nil {
		p = &Producer{ID: b.ProducerID}
		if known := d.table.byID[b.ProducerID]; known != nil {
			*p = *known
		}
		if d.changed == nil {
			d.changed = map[int64]*Producer{}
		}
		d.changed[p.ID] = p
	}
	p.add(b, now, expiration)
}

// Commit brings the draft into the table: its batches have been stored, one
// after another, the first at this offset.
func (d *Draft) Commit(first int64) {
	for id, p := range d.changed {
		for i := range p.Sent() {
			if s := &p.window[i]; s.Offset >= d.from {
				s.Offset += first - d.from
			}
		}
		if d.table.byID[id] == nil {
			d.table.room()
		}
		d.table.Put(p)
		d.table.changed(id)
	}
}
