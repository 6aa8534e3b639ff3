import { randomBytes } from 'node:crypto'
import { createAuth, defineAuth } from '@sallyport/core/auth'
import { columnsOf } from '@sallyport/core/internal/auth'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import type { Random } from '../../../core/test/hostile/random.ts'
import type { Issuer } from '../../../core/test/support/create-issuer.ts'
import { everyPasswordOption } from '../../../core/test/support/every-plugin.ts'
import {
  createSignIns,
  expectEveryMethod,
  openSignInServer,
  SESSION_METHODS,
  type SignInWorld,
} from '../../../core/test/support/sign-in-methods.ts'
import { openDatabase } from './open-database.ts'
import { type SignedIn, signIn } from './signed-in-users.ts'

/** `pnpm test:revocation` signs everyone in. A short run uses each method once, because hashing is slow. */
const MAX_SIGN_INS = process.env.REVOCATIONS === undefined ? SESSION_METHODS.length : Number.POSITIVE_INFINITY

interface Options {
  readonly issuer: Issuer
  readonly world: SignInWorld
  readonly random: Random
}

/**
 * Signs new users in through the endpoints of a node in this process, by every method in turn. Inserts the
 * rows of the others in bulk. Returns this many in random order.
 */
export async function signInByEveryMethod(
  databaseUrl: string,
  count: number,
  { issuer, world, random }: Options,
): Promise<SignedIn[]> {
  const { config, signingKeys } = issuer
  const definition = defineAuth({
    config,
    signingKeys,
    encryptionKeys: randomBytes(32).toString('base64'),
    plugins: [emailPassword(everyPasswordOption), ...world.plugins],
  })
  const database = await openDatabase(databaseUrl, { columns: columnsOf(definition) })
  const { db } = database
  const auth = await createAuth(definition, database, { pruneEverySeconds: 0 })
  const server = await openSignInServer({ ...auth, db, clock: config }, world)
  const signIns = createSignIns(server, random)
  const people: SignedIn[] = []
  while (people.length < Math.min(count, MAX_SIGN_INS)) {
    const session = await signIns.next()
    people.push({ ...session, version: 1, issuer: config.issuer })
  }
  auth.close()
  await database.close()
  expectEveryMethod(signIns)
  const others = await signIn(databaseUrl, count - people.length, { issuer })
  return random.shuffle([...people, ...others])
}
