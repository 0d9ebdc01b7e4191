// The line protocol of clienttest.Script (see ../script.go) for @platformatic/kafka.
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import readline from 'node:readline'
import { inspect } from 'node:util'

// A login is a Login of ../secured, or missing.
const [modules, login, addr] = process.argv.length > 4 ? process.argv.slice(2) : [process.argv[2], undefined, process.argv[3]]
const { Admin, Consumer, Producer } = await import(pathToFileURL(createRequire(`${modules}/`).resolve('@platformatic/kafka')))

// security returns the settings of a login.
function security({ mechanism, user, password, token, ca, pem }) {
  const shown = pem === '' ? undefined : fs.readFileSync(pem)
  const tls = { ca: fs.readFileSync(ca), cert: shown, key: shown }
  switch (mechanism) {
    case 'SSL':
      return { tls, tlsServerName: true }
    case 'OAUTHBEARER':
      return { tls, tlsServerName: true, sasl: { mechanism, token } }
  }
  return { tls, tlsServerName: true, sasl: { mechanism, username: user, password } }
}

const settings = {
  clientId: 'clienttest', bootstrapBrokers: [addr],
  // Where logins are tested, who is refused tells it at once.
  ...(login === undefined ? {} : { ...security(JSON.parse(login)), retries: 0 }),
}
const admin = new Admin(settings)
let member

const encode = data => data?.toString('base64') ?? null
const decode = text => (text === null ? undefined : Buffer.from(text, 'base64'))

// The library keeps headers in a Map. One whose keys are buffers has each entry, in order, also those of one name.
const toHeaders = list => new Map(list.map(({ name, value }) => [Buffer.from(name), value === null ? null : decode(value)]))
const fromHeaders = map => [...map].map(([name, value]) => ({ name: name.toString(), value: encode(value) }))

// start runs a consumer that queues what comes. take waits at most a second for records.
async function start(groupId, topic, from) {
  const consumer = new Consumer({ ...settings, groupId })
  const place = from === undefined
    ? { mode: 'committed', fallbackMode: 'earliest' }
    : { mode: 'manual', offsets: Object.entries(from).map(([partition, offset]) => ({ topic, partition: Number(partition), offset: BigInt(offset) })) }
  const stream = await consumer.consume({
    topics: [topic], autocommit: false, sessionTimeout: 10_000, rebalanceTimeout: 30_000, heartbeatInterval: 500, maxWaitTime: 200, ...place,
  })
  let queue = []
  let wake = () => {}
  let failed
  stream.on('data', ({ partition, offset, key, value, headers, timestamp }) => {
    queue.push({ partition, offset: Number(offset), key: encode(key), value: encode(value), headers: fromHeaders(headers), time: Number(timestamp) })
    wake()
  })
  stream.on('error', e => { failed = e; wake() })
  const take = async () => {
    if (queue.length === 0 && failed === undefined) {
      await new Promise(resolve => {
        const timer = setTimeout(resolve, 1000)
        wake = () => { clearTimeout(timer); resolve() }
      })
    }
    if (failed !== undefined) throw failed
    const records = queue
    queue = []
    const owned = consumer.assignments?.find(a => a.topic === topic)?.partitions ?? []
    return { records, partitions: owned }
  }
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
      topic, key: decode(r.key), value: decode(r.value), headers: toHeaders(r.headers), timestamp: BigInt(r.time),
    }))
    await producer.send({ messages, compression: codec })
    await producer.close()
  },
  // It reads in groups only: a group of its own, and offsets.
  read: async ({ topic, from, count }) => {
    const reader = await start(`reader-${process.pid}-${Date.now()}`, topic, from)
    const out = []
    while (out.length < count) out.push(...(await reader.take()).records)
    await reader.stop()
    return out
  },
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

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { op, ...rest } = JSON.parse(line)
  let answer
  try {
    answer = { ok: (await ops[op](rest)) ?? null }
  } catch (e) {
    answer = { error: inspect(e, { depth: 8 }) } // with the errors inside it
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
process.exit(0) // whatever a failed op left open
