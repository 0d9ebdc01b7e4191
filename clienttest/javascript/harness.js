// What the adapters share: the line protocol of clienttest.Script (see ../script.go).
'use strict'

const fs = require('node:fs')
const { createRequire } = require('node:module')
const readline = require('node:readline')
const { inspect } = require('node:util')

// A login is a Login of ../secured, or missing.
const [modules, login, addr] = process.argv.length > 4 ? process.argv.slice(2) : [process.argv[2], undefined, process.argv[3]]

exports.addr = addr
exports.login = login === undefined ? undefined : JSON.parse(login)
// load requires what is installed.
exports.load = createRequire(`${modules}/`)

// tlsOf returns the files of a login as node:tls takes them.
exports.tlsOf = ({ ca, pem }) => {
  const shown = pem === '' ? undefined : fs.readFileSync(pem)
  return { ca: fs.readFileSync(ca), cert: shown, key: shown }
}

// Bytes travel in base64, null as null.
exports.encode = data => data?.toString('base64') ?? null
exports.decode = text => (text === null ? null : Buffer.from(text, 'base64'))

// Records keeps what comes until it is taken.
exports.Records = class {
  #come = []
  #wake = () => {}
  #failed

  put(record) {
    this.#come.push(record)
    this.#wake()
  }

  fail(error) {
    this.#failed = error
    this.#wake()
  }

  // take waits at most a second for records.
  async take() {
    if (this.#come.length === 0 && this.#failed === undefined) {
      await new Promise(resolve => {
        const timer = setTimeout(resolve, 1000)
        this.#wake = () => { clearTimeout(timer); resolve() }
      })
    }
    if (this.#failed !== undefined) throw this.#failed
    const taken = this.#come
    this.#come = []
    return taken
  }
}

// reads is the op "read" of libraries that read in groups only: in a group of its own, from offsets on.
exports.reads = start => async ({ topic, from, count }) => {
  const reader = await start(`reader-${process.pid}-${Date.now()}`, topic, from)
  const out = []
  while (out.length < count) out.push(...(await reader.take()).records)
  await reader.stop()
  return out
}

// serve answers one line after the other with the op that it names.
exports.serve = async ops => {
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
}
