import { TEST_PASSWORD } from '@sallyport/core/testing'
import { checkCopies, checkOwner, streamsFlow, unlessEnded } from './checks.ts'
import type { SignedIn } from './open-app.ts'
import { openOwnBrowser, openOwnProgram } from './owner.ts'
import {
  callAsOwner,
  callAsProgram,
  callInternally,
  changeEmailElsewhere,
  changeEmailHere,
  prove,
  proveAsProgram,
  renderAsOwner,
  revokeBrowser,
  revokeProgram,
  tabOf,
} from './owner-steps.ts'
import type { History, Stage, Step } from './state.ts'
import type { KnownSession } from './thief.ts'
import {
  callAsThief,
  capture,
  captureProgram,
  refreshAsThief,
  replaceAsThief,
  useClientAsThief,
} from './thief-steps.ts'

/** Runs one random history and checks it after each step. Throws with its steps at the first violation. */
export async function runHistory(stage: Stage): Promise<void> {
  const history = await begin(stage)
  try {
    await capture(history)
    const length = 6 + stage.random.below(7)
    for (let step = 0; step < length && !history.browserSession.isEnded; step++) {
      await perform(history, chooseStep(history))
    }
    if (!history.browserSession.isEnded) await perform(history, ['prove', prove])
    await checkCopies(history, 'newest')
  } catch (error) {
    throw new Error(`${String(error)}\nSteps: ${history.steps.join(', ')}`, { cause: error })
  } finally {
    await end(history)
  }
}

async function begin(stage: Stage): Promise<History> {
  const { app, random, travel } = stage
  // Rate limits reset.
  travel(3_600)
  app.isRotating = random.chance(0.3)
  const { userId } = await app.createUser()
  const [ofBrowser, ofProgram] = [await app.signIn(userId), await app.signIn(userId)]
  const address = `198.51.100.${1 + random.below(250)}`
  const known = ({ sessionId }: SignedIn): KnownSession => ({ id: sessionId, proofs: 0, isEnded: false })
  const browser = openOwnBrowser(app, ofBrowser, address)
  const program = openOwnProgram(app, ofProgram, address)
  const history: History = {
    ...stage,
    steps: [],
    browserSession: known(ofBrowser),
    programSession: known(ofProgram),
    browser,
    program,
    copies: [],
    address,
    password: TEST_PASSWORD,
    deadlines: new Map(),
    mayEnd: new Set(),
    hasRotated: false,
  }
  // Both streams are open.
  app.ticks.tick()
  await streamsFlow(history)
  return history
}

async function end({ browser, program, copies, app }: History): Promise<void> {
  for (const { socket, stream } of copies) {
    socket.close()
    stream.close()
  }
  await Promise.all([browser.page.close(), browser.socketPage.close(), program.close()])
  app.outbox.emails.length = 0
}

async function perform(history: History, [name, step]: readonly [string, Step]): Promise<void> {
  const { browserSession, deadlines } = history
  const old = deadlines.size
  history.steps.push(name)
  await unlessEnded(history, browserSession, () => step(history))
  await unlessEnded(history, browserSession, () => checkOwner(history))
  await checkCopies(history, deadlines.size > old ? 'newest' : 'any')
}

/** The steps with their relative frequency. */
const STEPS: readonly (readonly [weight: number, name: string, step: Step])[] = [
  [3, 'call', callAsOwner],
  [1, 'refresh', async ({ browser, random }) => tabOf(browser, random).authClient.refresh()],
  [1, 'render', renderAsOwner],
  [1, 'internal call', callInternally],
  [1, 'bearer call', callAsProgram],
  [4, 'prove', prove],
  [1, 'prove as program', proveAsProgram],
  [1, 'change email here', changeEmailHere],
  [0.2, 'change email elsewhere', changeEmailElsewhere],
  [0.3, 'revoke the program', revokeProgram],
  [0.1, 'revoke the browser', revokeBrowser],
  [
    0.7,
    'toggle rotation',
    async ({ app }) => {
      app.isRotating = !app.isRotating
    },
  ],
  [2, 'seconds pass', async ({ travel, random }) => travel(1 + random.below(100))],
  [0.7, 'the JWT expires', async ({ travel }) => travel(16 * 60)],
  [3, 'thief copies', capture],
  [1, 'thief copies the program', captureProgram],
  [1, 'thief calls', callAsThief],
  [0.7, 'thief refreshes', refreshAsThief],
  [0.7, 'thief tries to replace credentials', replaceAsThief],
  [0.05, 'thief uses our client', useClientAsThief],
]

function chooseStep({ random }: History): readonly [string, Step] {
  const total = STEPS.reduce((sum, [weight]) => sum + weight, 0)
  let left = (random.below(10_000) / 10_000) * total
  for (const [weight, name, step] of STEPS) {
    left -= weight
    if (left < 0) return [name, step]
  }
  return ['call', callAsOwner]
}
