import type { Named } from '../../support/insert-rows.ts'
import type { Random } from '../random.ts'
import type { Target } from '../target.ts'

/** Identifiers that a careless comparison confuses with the original. */
const NEARLY: readonly ((id: string) => string)[] = [
  (id) => `${id} `,
  (id) => `${id}\u0000`,
  (id) => `\u0000${id}`,
  (id) => id.toUpperCase(),
  (id) => id.replaceAll('-', ''),
  (id) => `{${id}}`,
  (id) => id.slice(0, -1),
  (id) => `${id}' or '1'='1`,
  (id) => `${id}"; drop table session; --`,
  (id) => `${id.slice(0, -1)}_`,
  (id) => `${id.slice(0, -1)}%`,
  (id) => `${id.slice(0, -1)}\ud800`,
  (id) => `${id}\u200b`,
  () => '__proto__',
  () => 'constructor',
  () => '%',
  () => '*',
  () => '0',
  () => '\u0000',
  () => 'x'.repeat(128),
]

/** Signs valid claims for a session that the user doesn't have or no longer has. */
export function nameAnotherSession(random: Random, target: Target): string {
  const key = random.pick(target.ownKeys)
  return key.seal(target.header(key), target.claims(anotherSession(random, target)))
}

function anotherSession(random: Random, { live, ended }: Target): Named {
  const one = random.pick(live)
  switch (random.below(5)) {
    case 0:
    case 1:
      return {
        userId: one.userId,
        sessionId: random.pick(live.filter(({ userId }) => userId !== one.userId)).sessionId,
      }
    case 2:
      return random.pick(ended)
    case 3:
      return { ...one, sessionId: differing(one.sessionId, random) }
    default:
      return { ...one, userId: differing(one.userId, random) }
  }
}

function differing(id: string, random: Random): string {
  const nearly = random.pick(NEARLY)(id)
  return nearly === id ? differing(id, random) : nearly
}
