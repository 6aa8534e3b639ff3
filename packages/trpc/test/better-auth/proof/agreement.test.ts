// After every step of a user, every path must agree with Better Auth about every credential so far, or be
// stricter.
import { expect, onTestFinished, test } from 'vitest'
import { testPostgres } from '../../../../core/test/support/postgres.ts'
import { createRandom } from '../../../../core/test/support/random.ts'
import { agrees, type Compared, type Credential, compare, newCredentials } from './agreement.ts'
import { openProofApp, type ProofApp } from './open-app.ts'
import { credentialsOf, signUpAdmin } from './person.ts'
import { openScene, STEPS, STORIES, type StepName } from './steps.ts'

/** Stories of random steps. `pnpm test:better-auth` tells 80. */
const STORIES_AT_RANDOM = Number(process.env.BETTER_AUTH_STORIES ?? 0)
const SEED = Number(process.env.BETTER_AUTH_SEED ?? 21)
const { BETTER_AUTH_VERSION: VERSION = '1.7.25' } = process.env
const isLong = STORIES_AT_RANDOM > 0

const postgres = isLong ? await testPostgres() : null
const strategies = isLong ? (['none', 'compact', 'jwt', 'jwe'] as const) : (['jwt'] as const)
const variants = (isLong ? [null, postgres] : [null])
  .flatMap((database) => strategies.map((strategy) => ({ database, strategy })))
  .map((variant, index) => ({ ...variant, name: variant.database ? 'PostgreSQL' : 'SQLite', index }))
const storiesOfEach = STORIES_AT_RANDOM / variants.length

test.for(variants)(
  'every path agrees with Better Auth on $name, cookie cache $strategy',
  { timeout: 1_200_000 },
  async ({ database, index, strategy }) => {
    const app = await openProofApp(database, strategy === 'none' ? {} : { enabled: true, strategy })
    onTestFinished(() => app.close())
    expect((await app.auth.$context).version).toBe(VERSION)
    const { email } = await signUpAdmin(app)
    const counts = { accepted: 0, rejected: 0, stricter: 0 }
    const count = ({ ours, theirs }: Compared) => {
      counts[ours === theirs ? 'accepted' : theirs === null ? 'rejected' : 'stricter']++
    }
    // The quick form tells every second story.
    const stories = STORIES.filter((_, number) => isLong || number % 2 === 0)
    for (const story of stories) await tell(app, { story, email, isChecked: true, count })
    const random = createRandom(SEED + index)
    const [first, ...others] = names()
    for (let number = 0; number < storiesOfEach; number++) {
      const steps = Array.from({ length: 7 }, () => random.pick([first, ...others]))
      const story = ['sign up' as const, ...steps]
      await tell(app, { story, email, isChecked: false, count })
    }
    console.log(
      `${stories.length + storiesOfEach} stories, BETTER_AUTH_SEED=${SEED}:`,
      JSON.stringify(counts),
    )
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(10)
  },
)

function names(): [StepName, ...StepName[]] {
  const isStep = (name: string): name is StepName => name in STEPS
  return ['sign up', ...Object.keys(STEPS).filter(isStep)]
}

interface Told {
  readonly story: readonly StepName[]
  /** The email of an admin. */
  readonly email: string
  /** Whether Better Auth must accept every step. */
  readonly isChecked: boolean
  count(compared: Compared): void
}

async function tell(app: ProofApp, { story, email, isChecked, count }: Told): Promise<void> {
  const scene = await openScene(app, email)
  const admins = Object.values(credentialsOf(scene.admin.page))
  const seen = new Set(admins.map((headers) => JSON.stringify(headers)))
  const credentials: Credential[] = []
  const done: StepName[] = []
  for (const step of story) {
    const result = await STEPS[step](scene)
    done.push(step)
    if (isChecked && !result) expect.fail(`Better Auth rejected the last of: ${done.join(', ')}`)
    const compared = await Promise.all(credentials.map((credential) => compare(app, credential)))
    const added = await newCredentials(scene, { since: step, seen })
    credentials.push(...added)
    compared.push(...(await Promise.all(added.map((credential) => compare(app, credential)))))
    const where = `BETTER_AUTH_SEED=${SEED}, after ${done.join(', ')}`
    expect(
      compared.flat().filter((each) => !agrees(each)),
      where,
    ).toEqual([])
    compared.flat().forEach(count)
  }
  for (const { socket } of credentials) socket.close()
}
