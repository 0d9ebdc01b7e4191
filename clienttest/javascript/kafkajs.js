// The line protocol of clienttest.Script (see ../script.go) for kafkajs.
'use strict'

const { addr, decode, encode, load, login, Records, reads, serve, tlsOf } = require('./harness')
const { AssignerProtocol, CompressionCodecs, CompressionTypes, Kafka, logLevel } = load('kafkajs')

// kafkajs brings gzip and leaves the other codecs to plugins.
CompressionCodecs[CompressionTypes.Snappy] = load('kafkajs-snappy')
const lz4 = load('lz4-napi')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: encoder => lz4.compressFrame(encoder.buffer),
  decompress: buffer => lz4.decompressFrame(buffer),
})
const zstd = new Promise(resolve => load('zstd-codec').ZstdCodec.run(codec => resolve(new codec.Streaming())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd).decompress(buffer)),
})
const codecs = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }

// security returns the settings of a login.
function security({ mechanism, user, password, token, ...files }) {
  const ssl = tlsOf(files)
  switch (mechanism) {
    case 'SSL':
      return { ssl }
    case 'OAUTHBEARER':
      return { ssl, sasl: { mechanism: 'oauthbearer', oauthBearerProvider: async () => ({ value: token }) } }
  }
  return { ssl, sasl: { mechanism: mechanism.toLowerCase(), username: user, password } }
}

const settings = {
  brokers: [addr], logLevel: logLevel.WARN, logCreator: () => e => console.error(JSON.stringify(e)),
  ...(login === undefined ? {} : security(login)),
}
const kafka = new Kafka(settings)
// Where logins are tested, who is refused tells it at once.
const admin = (login === undefined ? kafka : new Kafka({ ...settings, retry: { retries: 0 } })).admin()
let member

// kafkajs keeps headers in an object: a repeated name has an array.
const toHeaders = list => {
  const out = {}
  for (const { name, value } of list) (out[name] ??= []).push(decode(value))
  return out
}
const fromHeaders = object =>
  Object.entries(object).flatMap(([name, values]) => [values].flat().map(value => ({ name, value: encode(value) })))

// start runs a consumer.
async function start(groupId, topic, seek = {}) {
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 500, maxWaitTimeInMs: 200 })
  let owned = []
  const come = new Records()
  consumer.on(consumer.events.GROUP_JOIN, e => { owned = e.payload.memberAssignment[topic] ?? [] })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      if (Number(message.offset) < Number(seek[partition] ?? 0)) return // fetched before the seek
      come.put({
        partition, offset: Number(message.offset), key: encode(message.key), value: encode(message.value),
        headers: fromHeaders(message.headers), time: Number(message.timestamp),
      })
    },
  })
  for (const [partition, offset] of Object.entries(seek)) consumer.seek({ topic, partition: Number(partition), offset: String(offset) })
  const take = async () => ({ records: await come.take(), partitions: owned })
  const stop = () => consumer.disconnect()
  const commit = offsets => consumer.commitOffsets(offsets)
  return { take, stop, commit }
}

const ops = {
  create: ({ topic, partitions }) =>
    admin.createTopics({ topics: [{ topic, numPartitions: partitions }], waitForLeaders: false }).then(created => {
      if (!created) throw new Error('the topic exists')
    }),
  delete: ({ topic }) => admin.deleteTopics({ topics: [topic] }),
  produce: async ({ topic, codec, records }) => {
    const producer = kafka.producer({ idempotent: true })
    await producer.connect()
    const messages = records.map(r => ({
      key: decode(r.key), value: decode(r.value), headers: toHeaders(r.headers), timestamp: String(r.time),
    }))
    await producer.send({ topic, messages, compression: CompressionTypes[codecs[codec]] })
    await producer.disconnect()
  },
  read: reads(start),
  at: async ({ topic, time }) => {
    const found = await admin.fetchTopicOffsetsByTimestamp(topic, time)
    return Object.fromEntries(found.map(({ partition, offset }) => [partition, Number(offset)]))
  },
  groups: async () => (await admin.listGroups()).groups.map(g => g.groupId),
  describe: async ({ group, topic }) => {
    const [{ errorCode, state, members }] = (await admin.describeGroups([group])).groups
    if (errorCode) throw new Error(`code ${errorCode}`)
    const assigned = m => AssignerProtocol.MemberAssignment.decode(m.memberAssignment)?.assignment[topic] ?? []
    return { state, members: members.map(assigned) }
  },
  join: async ({ group, topic }) => { member = await start(group, topic) },
  poll: () => member.take(),
  commit: ({ topic, positions }) =>
    member.commit(Object.entries(positions).map(([p, o]) => ({ topic, partition: Number(p), offset: String(o) }))),
  leave: () => member.stop(),
}

const connected = admin.connect()
connected.catch(() => {}) // each op tells
serve(Object.fromEntries(Object.entries(ops).map(([name, op]) => [name, request => connected.then(() => op(request))])))
