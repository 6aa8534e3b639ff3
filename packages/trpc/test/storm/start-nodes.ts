import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createPasswordAccount } from '@sallyport/core/plugins/email-password'
import { openSqlite, type SqliteAuthDatabase } from '@sallyport/core/sqlite'
import { onTestFinished } from 'vitest'
import { firstMessage } from '../../../core/test/support/first-message.ts'

/** A node's counts so far. */
export interface NodeReport {
  /** Requests that are held back. */
  readonly heldBack: number
  /** Passwords that argon2 checked. */
  readonly passwords: number
  /** Events `sign-in.failed` by their reason. */
  readonly failures: Readonly<Record<string, number>>
  readonly errors: readonly string[]
}

/** Nodes in separate processes that share a SQLite file. */
export interface Nodes {
  readonly urls: readonly string[]
  /** The shared database. */
  readonly database: SqliteAuthDatabase<unknown>
  /** Waits until each node holds this many requests, and then releases all of them, in any order. */
  letIn(waiting: number): Promise<void>
  report(): Promise<NodeReport[]>
}

/** The base URL that the nodes are configured with. */
const BASE_URL = 'http://localhost:3000'
export const EMAIL = 'ada@example.com'
export const PASSWORD = 'correct horse battery staple'

/** Starts two nodes, which end with the test. Creates one account. */
export async function startNodes(limits: { account: number; address: number }, seed: string): Promise<Nodes> {
  const directory = mkdtempSync(join(tmpdir(), 'sallyport-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const databasePath = join(directory, 'app.db')
  const database = await openSqlite(databasePath)
  onTestFinished(database.close)
  const now = new Date()
  await createPasswordAccount(database, { name: 'Ada', email: EMAIL, password: PASSWORD, now })

  const inAnHour = (points: number) => ({ points, duration: 3_600 })
  const options = { account: inAnHour(limits.account), address: inAnHour(limits.address) }
  const args = [BASE_URL, databasePath, join(directory, 'keys.json'), JSON.stringify(options), seed]
  const execArgv = ['--import', import.meta.resolve('./count-passwords.ts')]
  const children = [1, 2].map(() => {
    const child = fork(new URL('storm-node.ts', import.meta.url), args, { execArgv })
    onTestFinished(() => void child.kill())
    return child
  })
  const received = () => Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))
  const tell = (message: string): Promise<NodeReport[]> => {
    const reports = received()
    for (const child of children) child.send(message)
    return reports
  }
  const report = () => tell('report')

  return {
    urls: await Promise.all(children.map((child) => firstMessage<string>(child))),
    database,
    report,
    async letIn(waiting) {
      while ((await report()).some(({ heldBack }) => heldBack < waiting)) await sleep(20)
      await tell('let in')
    },
  }
}
