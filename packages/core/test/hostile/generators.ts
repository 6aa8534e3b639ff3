import { chooseAlgorithm } from './generators/algorithms.ts'
import { flipBits } from './generators/bit-flips.ts'
import { spoilClaims } from './generators/claims.ts'
import { addHeaderMembers } from './generators/header-members.ts'
import { keyHmacWithPublicKey } from './generators/hmac.ts'
import { signHostileJson } from './generators/json.ts'
import { swapKeys } from './generators/keys.ts'
import { chooseKind } from './generators/kinds.ts'
import { nameAnotherSession } from './generators/sessions.ts'
import { spellDifferently } from './generators/spellings.ts'
import { spliceSegments } from './generators/splices.ts'
import { truncate } from './generators/truncations.ts'
import type { Random } from './random.ts'
import type { Target } from './target.ts'

/** A way to create tokens that must be rejected. */
export interface Generator {
  readonly name: string
  readonly generate: (random: Random, target: Target) => string
  /** The step that rejects: Step 1, or Step 2 if the token itself is valid. */
  readonly rejectedBy: 'Step 1' | 'Step 2'
}

export const GENERATORS: readonly Generator[] = [
  { name: 'bit flips', generate: flipBits, rejectedBy: 'Step 1' },
  { name: 'truncations', generate: truncate, rejectedBy: 'Step 1' },
  { name: 'segments spliced between users', generate: spliceSegments, rejectedBy: 'Step 1' },
  { name: 'the algorithm matrix', generate: chooseAlgorithm, rejectedBy: 'Step 1' },
  { name: 'HMAC with encodings of the public key', generate: keyHmacWithPublicKey, rejectedBy: 'Step 1' },
  { name: 'header members', generate: addHeaderMembers, rejectedBy: 'Step 1' },
  { name: 'claim types and extremes', generate: spoilClaims, rejectedBy: 'Step 1' },
  { name: 'non-canonical base64url', generate: spellDifferently, rejectedBy: 'Step 1' },
  { name: 'hostile JSON signed with the real key', generate: signHostileJson, rejectedBy: 'Step 1' },
  { name: 'retired and foreign keys', generate: swapKeys, rejectedBy: 'Step 1' },
  { name: 'other token kinds', generate: chooseKind, rejectedBy: 'Step 1' },
  { name: 'valid signature for the session of another', generate: nameAnotherSession, rejectedBy: 'Step 2' },
]
