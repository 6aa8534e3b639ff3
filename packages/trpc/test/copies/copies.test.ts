import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createRandom } from '../../../core/test/hostile/random.ts'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { runHistory } from './history.ts'
import { type CopiesApp, openCopiesApp } from './open-app.ts'
import { PATHS } from './paths.ts'
import { shiftClocks, type Travel } from './shift-clocks.ts'
import type { Counts } from './state.ts'

/** `pnpm test:copies` runs 1,000. */
const HISTORIES = Number(process.env.HISTORIES ?? 5)
const SEED = process.env.COPIES_SEED ?? 'sallyport'
/** The others run on SQLite. */
const ON_POSTGRES = Math.ceil(HISTORIES / 5)

const page = Object.assign(new EventTarget(), { hidden: false })
const apps: CopiesApp[] = []
let travel: Travel

beforeAll(async () => {
  // Clients treat this process as a browser, whose tabs have locks and messages.
  vi.stubGlobal('document', page)
  vi.stubGlobal('window', page)
  const server = await testPostgres()
  const urls = [join(temporaryDirectory(), 'copies.db'), await server.createDatabase('copies')]
  for (const url of urls) apps.push(await openCopiesApp(url))
  travel = shiftClocks(apps.map(({ clock }) => clock))
}, 60_000)
afterAll(async () => {
  vi.restoreAllMocks()
  for (const app of apps) await app.close()
})

describe.each([
  { engine: 'SQLite', index: 0, histories: HISTORIES - ON_POSTGRES },
  { engine: 'PostgreSQL', index: 1, histories: ON_POSTGRES },
])('on $engine', ({ engine, index, histories }) => {
  test(`accepts no old credential and signs no owner out in ${histories} random histories`, {
    timeout: 60_000 + histories * 20_000,
  }, async () => {
    const app = apps[index]
    if (app === undefined) throw new Error('No app')
    const counts: Counts = {}
    for (let number = 0; number < histories; number++) {
      const seed = `${SEED} ${engine} ${number}`
      try {
        await runHistory({ app, travel, random: createRandom(seed), counts })
      } catch (error) {
        throw new Error(`History ${number} of COPIES_SEED=${SEED}: ${String(error)}`, { cause: error })
      }
    }
    console.log(`${histories} histories on ${engine}, COPIES_SEED=${SEED}:`, counts)
    for (const path of Object.keys(PATHS)) {
      expect(Object.keys(counts).filter((name) => name.startsWith(`${path}: `))).not.toEqual([])
    }
  })
})
