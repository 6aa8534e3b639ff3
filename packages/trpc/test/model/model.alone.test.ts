import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { testPostgres } from '../../../core/test/support/postgres.ts'
import { temporaryDirectory } from '../../../core/test/support/temporary-directory.ts'
import { type Command, histories } from './commands.ts'
import { type Engine, postgresEngine, sqliteEngine } from './engines.ts'
import { openSystem, type System } from './open-system.ts'
import { runHistory } from './run-history.ts'
import { TRANSPORTS } from './transports.ts'

/** `pnpm test:model` runs 20,000 on SQLite. On PostgreSQL, a tenth. */
const HISTORIES = Number(process.env.HISTORIES ?? 30)
const { MODEL_SEED, MODEL_PATH, MODEL_ENGINE } = process.env
/** The same histories in every run of all tests, and others in every long run. */
const SEED = Number(MODEL_SEED ?? (process.env.HISTORIES === undefined ? 1 : Date.now() % 2 ** 31))

// Real hashes would take most of the time.
vi.mock('../../../core/src/plugins/email-password/password.ts', async (importOriginal) => {
  const digest = (password: string) => createHash('sha256').update(password).digest('base64')
  const hashPassword = async (password: string) => `$argon2id$v=19$m=19456,t=2,p=1$${digest(password)}`
  return {
    ...(await importOriginal<typeof import('../../../core/src/plugins/email-password/password.ts')>()),
    hashPassword,
    verifyPassword: async (password: string, hash: string | null) => hash === (await hashPassword(password)),
  }
})

const directory = temporaryDirectory()
const server = MODEL_ENGINE === 'SQLite' ? null : await testPostgres()
const engines = [
  { name: 'SQLite', count: HISTORIES, open: async () => sqliteEngine(join(directory, 'model.db')) },
  {
    name: 'PostgreSQL',
    count: Math.ceil(HISTORIES / 10),
    open: async () => postgresEngine((await server?.createDatabase('model')) ?? ''),
  },
]

describe.each(engines.filter(({ name }) => name === (MODEL_ENGINE ?? name)))(
  'on $name',
  ({ name, count, open }) => {
    let engine: Engine
    let system: System
    beforeAll(async () => {
      engine = await open()
      system = await openSystem(engine)
    })
    // The tests search the whole file for secrets when it is closed.
    afterAll(
      async () => {
        await system.close()
        await engine.close()
      },
      60_000 + count * 50,
    )

    test(`every answer in ${count} random histories is one that the model allows`, {
      timeout: 60_000 + count * 2_000,
    }, async () => {
      const counts: Record<string, number> = {}
      const property = fc.asyncProperty(histories, (commands) => runHistory(system, commands, counts))
      const path = MODEL_PATH === undefined ? {} : { path: MODEL_PATH }
      const result = await fc.check(property, { numRuns: count, seed: SEED, ...path })
      if (result.failed) throw new Error(report(name, result), { cause: result.errorInstance })
      console.log(`${result.numRuns} histories on ${name}, MODEL_SEED=${result.seed}:`, byOutcome(counts))
      if (MODEL_PATH !== undefined || count < 50) return
      for (const transport of Object.keys(TRANSPORTS))
        expect(counts[`${transport}: accepted`]).toBeGreaterThan(0)
    })
  },
)

/** Sums the answers of all transports and endpoints. */
function byOutcome(counts: Readonly<Record<string, number>>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const [name, count] of Object.entries(counts)) {
    const outcome = name.split(': ')[1] ?? ''
    sums[outcome] = (sums[outcome] ?? 0) + count
  }
  return sums
}

function report(
  engine: string,
  { seed, counterexamplePath, counterexample, errorInstance }: fc.RunDetails<[Command[]]>,
): string {
  const steps = (counterexample?.[0] ?? []).map((command) => `  ${JSON.stringify(command)}`)
  const again = `MODEL_ENGINE=${engine} MODEL_SEED=${seed} MODEL_PATH=${counterexamplePath} pnpm test:model`
  return [String(errorInstance), ...steps, `Run it again: ${again}`].join('\n')
}
