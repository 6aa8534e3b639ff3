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

const IS_LONG_RUN = process.env.REVOCATIONS !== undefined

interface Options {
  readonly issuer: Issuer
  readonly world: SignInWorld
  readonly random: Random
  /** Uses each method once in a short run too. Otherwise, only `pnpm test:revocation` signs users in. */
  readonly alwaysSignsIn?: boolean
}

/**
 * Signs new users in through the endpoints of a node in this process, by every method in turn. Inserts the
 * rows of the others in bulk, because hashing is slow. Returns this many in random order.
 */
export async function signInByEveryMethod(
  databaseUrl: string,
  count: number,
  { issuer, world, random, alwaysSignsIn = IS_LONG_RUN }: Options,
): Promise<SignedIn[]> {
  if (!alwaysSignsIn) return signIn(databaseUrl, count, { issuer })
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
  while (people.length < (IS_LONG_RUN ? count : SESSION_METHODS.length)) {
    const session = await signIns.next()
    people.push({ ...session, version: 1, issuer: config.issuer })
  }
  auth.close()
  await database.close()
  expectEveryMethod(signIns)
  const others = await signIn(databaseUrl, count - people.length, { issuer })
  return random.shuffle([...people, ...others])
}
