// The line protocol of clienttest.Script (see ../script.go) for @platformatic/kafka.
import { pathToFileURL } from 'node:url'

import harness from './harness.js'

const { addr, decode, encode, load, login, Records, reads, serve, tlsOf } = harness
const { Admin, Consumer, Producer } = await import(pathToFileURL(load.resolve('@platformatic/kafka')))

// security returns the settings of a login.
function security({ mechanism, user, password, token, ...files }) {
  const tls = { tls: tlsOf(files), tlsServerName: true }
  switch (mechanism) {
    case 'SSL':
      return tls
    case 'OAUTHBEARER':
      return { ...tls, sasl: { mechanism, token } }
  }
  return { ...tls, sasl: { mechanism, username: user, password } }
}

const settings = {
  clientId: 'clienttest', bootstrapBrokers: [addr],
  // Where logins are tested, who is refused tells it at once.
  ...(login === undefined ? {} : { ...security(login), retries: 0 }),
}
const admin = new Admin(settings)
let member

// The library keeps headers in a Map. One whose keys are buffers has each entry, in order, also those of one name.
const toHeaders = list => new Map(list.map(({ name, value }) => [Buffer.from(name), decode(value)]))
const fromHeaders = map => [...map].map(([name, value]) => ({ name: name.toString(), value: encode(value) }))

// start runs a consumer.
async function start(groupId, topic, from) {
  const consumer = new Consumer({ ...settings, groupId })
  const place = from === undefined
    ? { mode: 'committed', fallbackMode: 'earliest' }
    : { mode: 'manual', offsets: Object.entries(from).map(([partition, offset]) => ({ topic, partition: Number(partition), offset: BigInt(offset) })) }
  const stream = await consumer.consume({
    topics: [topic], autocommit: false, sessionTimeout: 10_000, rebalanceTimeout: 30_000, heartbeatInterval: 500, maxWaitTime: 200, ...place,
  })
  const come = new Records()
  stream.on('data', ({ partition, offset, key, value, headers, timestamp }) => come.put({
    partition, offset: Number(offset), key: encode(key), value: encode(value), headers: fromHeaders(headers), time: Number(timestamp),
  }))
  stream.on('error', e => come.fail(e))
  const take = async () => ({
    records: await come.take(), partitions: consumer.assignments?.find(a => a.topic === topic)?.partitions ?? [],
  })
  const stop = () => consumer.close(true)
  const commit = offsets => consumer.commit({ offsets })
  return { take, stop, commit }
}

const ops = {
  create: ({ topic, partitions }) => admin.createTopics({ topics: [topic], partitions, replicas: 1 }).then(() => null),
  delete: ({ topic }) => admin.deleteTopics({ topics: [topic] }),
  produce: async ({ topic, codec, records }) => {
    const producer = new Producer({ ...settings, idempotent: true })
    const messages = records.map(r => ({
      topic, key: decode(r.key) ?? undefined, value: decode(r.value) ?? undefined, headers: toHeaders(r.headers), timestamp: BigInt(r.time),
    }))
    await producer.send({ messages, compression: codec })
    await producer.close()
  },
  read: reads(start),
  at: async ({ topic, time }) => {
    const partitions = [0, 1, 2].map(partitionIndex => ({ partitionIndex, timestamp: BigInt(time) }))
    const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions }] })
    return Object.fromEntries(found.partitions.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]))
  },
  groups: async () => [...(await admin.listGroups()).keys()],
  describe: async ({ group, topic }) => {
    const { state, members } = (await admin.describeGroups({ groups: [group] })).get(group)
    return { state: states[state] ?? state, members: [...members.values()].map(m => m.assignments?.get(topic)?.partitions ?? []) }
  },
  join: async ({ group, topic }) => { member = await start(group, topic) },
  poll: () => member.take(),
  commit: ({ topic, positions }) =>
    member.commit(Object.entries(positions).map(([p, o]) => ({ topic, partition: Number(p), offset: BigInt(o), leaderEpoch: 0 }))),
  leave: () => member.stop(),
}

// The library says the states of groups in its own way.
const states = { STABLE: 'Stable', EMPTY: 'Empty', DEAD: 'Dead', PREPARING_REBALANCE: 'PreparingRebalance', COMPLETING_REBALANCE: 'CompletingRebalance' }

await serve(ops)
