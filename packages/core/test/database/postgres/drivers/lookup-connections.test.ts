import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { openPostgres } from '@sallyport/core/postgres'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { lookupConnections } from '../../../../src/database/postgres/drivers/lookup-connections.ts'
import { startFixture } from '../../../support/child-process.ts'
import { postgresKind } from '../../../support/database-kinds.ts'
import { eventually } from '../../../support/eventually.ts'
import { PATIENT, testPostgres } from '../../../support/postgres.ts'
import { storeSession } from '../../../support/stored-sessions.ts'

const server = await testPostgres()
const kind = postgresKind(server)

test("behind a pooler, another connection's statement is read with its own columns", async () => {
  const client = new pg.Client(await server.createDatabase('pooled'))
  const connections = lookupConnections(
    { connect: async () => Object.assign(await client.connect(), { isPooled: true }), timeoutMs: 20_000 },
    { prepare: async () => {}, onReady() {}, onOutage() {} },
  )
  onTestFinished(() => connections.close(Promise.resolve()))
  await connections.opened
  await client.query('create table item (banned boolean); insert into item values (true)')
  const statement = { text: 'select banned from item', name: 'items', rowMode: 'array' } as const
  expect((await connections.current()?.lookUp(statement))?.rows).toEqual([[true]])
  // As on a connection that another client has prepared it on since.
  await client.query('alter table item alter banned type integer using 2; deallocate items')
  await client.query(`prepare items as ${statement.text}`)
  expect((await connections.current()?.lookUp(statement))?.rows).toEqual([[2]])
})

test('leaves no timer if it is closed after a freeze, while it connects', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const connecting = Promise.withResolvers<never>()
  const connections = lookupConnections(
    { connect: () => connecting.promise, timeoutMs: 20_000 },
    { prepare: async () => {}, onReady() {}, onOutage() {} },
  )
  vi.setSystemTime(Date.now() + 60_000)
  await connections.close(Promise.resolve())
  connecting.reject(new Error('The connection is lost'))
  await vi.advanceTimersByTimeAsync(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

/** Runs a proxy that hides the server's process id, as poolers do. Returns its port. */
async function hideProcessId(port: number): Promise<number> {
  const proxy = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    client.on('error', () => upstream.destroy()).pipe(upstream)
    upstream.on('error', () => client.destroy()).on('end', () => client.end())
    upstream.on('data', (data) => {
      if (typeof data === 'string') throw new TypeError('Bytes were expected')
      const key = data.indexOf('K\0\0\0\x0c')
      if (key >= 0) data.writeInt32BE(1, key + 5)
      client.write(data)
    })
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void proxy.close())
  return (proxy.address() as AddressInfo).port
}

test.each([
  { connection: 'directly, once per connection', isPooled: false },
  { connection: 'through a pooler, with each lookup', isPooled: true },
])('$connection, lookups ask for the columns', async ({ isPooled }) => {
  const database = await kind.create()
  const url = new URL(database.url)
  if (isPooled) url.port = String(await hideProcessId(Number(url.port)))
  const { sessions, close } = await openPostgres(url.href, PATIENT)
  onTestFinished(close)
  const ada = await storeSession(database)
  await sessions.findSession(ada)
  const describe = vi.spyOn(pg.Connection.prototype, 'describe')
  onTestFinished(() => describe.mockRestore())
  // The feed sends a statement every few seconds.
  await eventually(async () => {
    describe.mockClear()
    for (let lookup = 0; lookup < 3; lookup++)
      expect(await sessions.findSession(ada)).toMatchObject({ id: ada.sessionId })
    expect(describe).toHaveBeenCalledTimes(isPooled ? 3 : 0)
  })
})

test.each([
  { state: 'is closed', message: 'close' },
  { state: 'is used after a freeze, and closed', message: 'freeze' },
])('a server that never closes its end keeps no process alive whose database $state', async ({ message }) => {
  const url = new URL(await server.createDatabase(`hanging_${message}`))
  const { port } = url
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    upstream.on('error', () => {}).pipe(client, { end: false })
    client.on('error', () => {}).pipe(upstream)
    onTestFinished(() => void client.destroy())
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void proxy.close())
  url.port = String((proxy.address() as AddressInfo).port)
  const child = startFixture('closePostgres', url.href)
  onTestFinished(child.kill)
  expect(await child.nextMessage()).toBe('open')
  child.tell(message)
  await expect(child.nextMessage()).rejects.toThrow('ended without a message')
})
