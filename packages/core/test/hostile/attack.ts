import { authenticate, type Identity, isAuthError, type Reason, verifyJwt } from '@sallyport/core'
import type { Named } from '../support/insert-rows.ts'
import { carry, delivered } from './carry.ts'
import type { Costs } from './costs.ts'
import type { Generator } from './generators.ts'
import { type Expected, isGenuine, passesCheapChecks } from './independent-check.ts'
import type { Random } from './random.ts'
import { sealControl } from './seal-control.ts'
import type { Gate, Target } from './target.ts'

/** A violation, and the token that caused it. */
export interface Finding {
  readonly generator: string
  readonly run: number
  readonly what: string
  readonly token: string
}

/** The result of an attack. */
export interface AttackReport {
  /** The first violations. There must be none. */
  readonly findings: readonly Finding[]
  /** Valid tokens that were sent among the hostile ones, and accepted. */
  readonly controls: number
  /** How many checks the hostile tokens passed. */
  readonly stoppedAt: { cheapChecks: number; key: number; session: number }
}

/** One of this many tokens is valid. */
const CONTROL_EVERY = 100
const MAX_FINDINGS = 5
const REFUSALS: readonly string[] = [
  'TOKEN_MISSING',
  'TOKEN_INVALID',
  'TOKEN_EXPIRED',
  'SESSION_NOT_FOUND',
  'SESSION_EXPIRED',
] satisfies Reason[]

/** The gates under attack: one for both steps, and one for Step 1 alone that also trusts another issuer. */
export interface Gates {
  readonly narrow: Gate
  readonly wide: Gate
}

/** Gates that have verified, and cached, the valid tokens that the generators alter. */
export async function openGates(target: Target): Promise<Gates> {
  const gates = { narrow: target.openGate(), wide: target.openWideGate() }
  for (const { token } of target.tokens) {
    await Promise.all([verifyJwt(token, gates.narrow.config), verifyJwt(token, gates.wide.config)])
  }
  return gates
}

/**
 * Sends the tokens of a generator to both steps, and to Step 1 alone.
 *
 * @param options.costs collects what each token cost in both steps; `valid` collects the costs of valid
 * tokens
 */
export async function attack(
  { name, generate, rejectedBy }: Generator,
  target: Target,
  options: { gates: Gates; random: Random; runs: number; costs?: { hostile: Costs; valid: Costs } },
): Promise<AttackReport> {
  const { random, runs, costs } = options
  const { narrow, wide } = options.gates
  const atNarrow = expectedOf(target)
  const atWide = {
    ...atNarrow,
    types: [...atNarrow.types, 'JWT'],
    keys: [...atNarrow.keys, { ...target.trustedKey.publicJwk }],
  }
  const findings: Finding[] = []
  const stoppedAt = { cheapChecks: 0, key: 0, session: 0 }
  let controls = 0

  for (let run = 1; run <= runs && findings.length < MAX_FINDINGS; run++) {
    const control = run % CONTROL_EVERY === 0 ? random.pick(target.live) : null
    const token = control === null ? generate(random, target) : sealControl(control, random, target)
    const find = (what: string) => findings.push({ generator: name, run, what, token })

    const alone = await send(wide, () => verifyJwt(token, wide.config))
    const request = carry(token, random)
    target.auth.lookups.reset()
    const before = process.cpuUsage()
    const both = await send(narrow, () =>
      authenticate(request, 'query', { config: narrow.config, sessions: target.auth.database.sessions }),
    )
    const { user, system } = process.cpuUsage(before)
    const cost = { generator: name, token, micros: user + system }
    const sessionLookups = target.auth.lookups.count

    if (control !== null) {
      costs?.valid.add(cost)
      if (!isFor(both.accepted?.identity, control)) find(`both steps: a valid token was ${both.outcome}`)
      if (!isFor(alone.accepted, control)) find(`Step 1: a valid token was ${alone.outcome}`)
      if (!isGenuine(token, atNarrow, target.now)) find('the independent check rejects a valid token')
      controls++
      continue
    }

    costs?.hostile.add(cost)
    if (!REFUSALS.includes(both.outcome)) find(`both steps: ${both.outcome}`)
    const isRight = rejectedBy === 'Step 2'
    if (isRight ? alone.outcome !== 'accepted' : !REFUSALS.includes(alone.outcome))
      find(`Step 1: ${alone.outcome}`)
    if (isGenuine(token, atNarrow, target.now) !== isRight) find(`the independent check says ${!isRight}`)

    const isWorthAKey = passesCheapChecks(delivered(request), atNarrow)
    if (both.keyLookups > Number(isWorthAKey)) find(`both steps: ${both.keyLookups} key lookups`)
    if (alone.keyLookups > Number(passesCheapChecks(token, atWide)))
      find(`Step 1: ${alone.keyLookups} key lookups`)
    if (sessionLookups > Number(isRight && isWorthAKey)) find(`${sessionLookups} session lookups`)
    if (sessionLookups > 0) stoppedAt.session++
    else if (both.keyLookups > 0) stoppedAt.key++
    else stoppedAt.cheapChecks++
  }
  return { findings, controls, stoppedAt }
}

/** Returns the claims of a valid token, for the independent check. */
function expectedOf({ issuer, ownKeys }: Target): Expected {
  const keys = ownKeys.map(({ publicJwk }) => ({ ...publicJwk }))
  return { issuer, audience: issuer, types: ['at+jwt'], keys }
}

async function send<Result>(
  gate: Gate,
  step: () => Promise<Result>,
): Promise<{ outcome: string; accepted: Result | null; keyLookups: number }> {
  gate.keyLookups = 0
  try {
    const accepted = await step()
    return { outcome: 'accepted', accepted, keyLookups: gate.keyLookups }
  } catch (error) {
    return {
      outcome: isAuthError(error) ? error.reason : `threw ${error}`,
      accepted: null,
      keyLookups: gate.keyLookups,
    }
  }
}

function isFor(identity: Identity | null | undefined, session: Named): boolean {
  return identity?.userId === session.userId && identity.sessionId === session.sessionId
}
