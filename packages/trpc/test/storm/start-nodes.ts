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

/** What a node has done so far. */
export interface NodeReport {
  /** Requests that wait to be let in. */
  readonly heldBack: number
  /** Passwords that argon2 was asked about. */
  readonly passwords: number
  /** Events `sign-in.failed` by their reason. */
  readonly failures: Readonly<Record<string, number>>
  readonly errors: readonly string[]
}

/** Nodes in processes of their own that share a SQLite file. */
export interface Nodes {
  readonly urls: readonly string[]
  /** The file that they share. */
  readonly database: SqliteAuthDatabase<unknown>
  /** Waits until so many requests wait at each node, then lets all of them in, in any order. */
  letIn(waiting: number): Promise<void>
  report(): Promise<NodeReport[]>
}

/** What the nodes believe to be their own address. */
const BASE_URL = 'http://localhost:3000'
export const EMAIL = 'ada@example.com'
export const PASSWORD = 'correct horse battery staple'

/** Starts two nodes, which end with the test. There is one account. */
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
  const heard = () => Promise.all(children.map(async (child) => (await once(child, 'message'))[0]))
  const tell = (message: string): Promise<NodeReport[]> => {
    const reports = heard()
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
