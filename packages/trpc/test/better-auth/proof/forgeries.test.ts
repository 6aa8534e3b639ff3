// No path accepts a value that Better Auth didn't sign for a session, as a cookie or as a bearer token.
import { expect, onTestFinished, test } from 'vitest'
import { createRandom } from '../../../../core/test/support/random.ts'
import { ORIGIN } from '../../support/visitor.ts'
import { PATHS } from './ask.ts'
import { FORGERIES, sign } from './forge.ts'
import { openProofApp, type ProofApp } from './open-app.ts'
import { type Person, signUp } from './person.ts'
import { STEPS } from './steps.ts'

/** `pnpm test:better-auth` tries 10,000. */
const FORGED = Number(process.env.BETTER_AUTH_FORGERIES ?? 300)
const SEED = Number(process.env.BETTER_AUTH_SEED ?? 21)

test(`${FORGED} forged, unsigned, and foreign cookies and bearer tokens: none is accepted`, {
  timeout: 1_200_000,
}, async () => {
  const app = await openProofApp(null, { enabled: true, strategy: 'compact' })
  onTestFinished(() => app.close())
  const random = createRandom(SEED)
  const victim = await signUp(app)
  const forger = await signUp(app)
  await waitForSecondFactor(app, forger)

  const genuine = encodeURIComponent(`${victim.token}.${sign(victim.token)}`)
  for (const ask of Object.values(PATHS))
    for (const headers of [cookie(genuine), bearer(genuine)]) expect(await ask(app, headers)).toContain('/')

  const isEmpty = ([, forge]: [string, (typeof FORGERIES)[string]]) =>
    forge({ victim, forger, random }) === ''
  expect(Object.entries(FORGERIES).filter(isEmpty)).toEqual([['nothing', FORGERIES.nothing]])
  const results: Record<string, number> = {}
  const wrong: unknown[] = []
  const forgeries = Object.entries(FORGERIES)
  const paths = Object.entries(PATHS)
  async function tryOne(number: number): Promise<void> {
    const [name, forge] = forgeries[number % forgeries.length] ?? []
    const [path, ask] = paths[Math.floor(number / forgeries.length) % paths.length] ?? []
    const value = forge?.({ victim, forger, random }) ?? ''
    const answer = await ask?.(app, random.below(3) === 0 ? bearer(value) : cookie(value))
    results[answer ?? ''] = (results[answer ?? ''] ?? 0) + 1
    if (!/^(TOKEN_MISSING|TOKEN_INVALID|SESSION_NOT_FOUND)$/.test(answer ?? ''))
      wrong.push({ number, name, path, answer })
  }
  for (let number = 0; number < FORGED; number += 10)
    await Promise.all(Array.from({ length: 10 }, (_, index) => tryOne(number + index)))
  console.log(`${FORGED} forgeries, BETTER_AUTH_SEED=${SEED}:`, JSON.stringify(results))
  expect(wrong).toEqual([])
  // Proved, but of no session.
  expect(results.SESSION_NOT_FOUND).toBeGreaterThan(0)
})

/** Gives a user's browser the cookies `two_factor` and `dont_remember`. */
async function waitForSecondFactor(app: ProofApp, person: Person): Promise<void> {
  const scene = {
    app,
    page: person.page,
    other: person.page,
    admin: person,
    user: person,
    organizationId: '',
  }
  await STEPS['enable two factors'](scene)
  await STEPS['sign in without being remembered'](scene)
}

const cookie = (value: string) => ({
  cookie: `better-auth.session_token=${value}`,
  origin: ORIGIN,
  'sec-fetch-site': 'same-origin',
})
const bearer = (value: string) => ({ authorization: `Bearer ${value}` })
