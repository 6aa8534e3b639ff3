import type { Named } from '../support/insert-rows.ts'
import type { Random } from './random.ts'
import type { Target } from './target.ts'

/** Claims of the app: none, long ones, and unusual but valid ones. */
const FURTHER_CLAIMS: readonly ((random: Random) => string)[] = [
  () => '',
  (random) => `,"tenant":"${'x'.repeat(random.below(2_380))}"`,
  (random) => `,"list":${nested(random.below(1_150))}`,
  () => ',"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
  () => ',"nbf":0,"name":"\\ud800 \\u0000 é 😀","amount":1e308,"nothing":null',
]

/** Creates a valid token of any length. */
export function sealControl(session: Named, random: Random, target: Target): string {
  const key = random.pick(target.ownKeys)
  const claims = JSON.stringify(target.claims(session)).slice(0, -1)
  return key.seal(target.header(key), `${claims}${random.pick(FURTHER_CLAIMS)(random)}}`)
}

function nested(depth: number): string {
  return `${'['.repeat(depth)}1${']'.repeat(depth)}`
}
