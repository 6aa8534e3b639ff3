import * as z from 'zod/mini'
import type { AuthTransaction } from '../../database/session-database.ts'
import type { EndpointContext } from '../../endpoints/endpoint.ts'
import { oneTimeToken } from '../../endpoints/plain-schemas.ts'
import type { EndpointError } from '../../protocol/endpoint-error.ts'
import { readCookie, setCookie } from '../../request/cookie.ts'
import { createSecret, hashSecret } from '../../session/secret.ts'
import { findUser } from '../email-user.ts'
import { countAddress } from './attempts.ts'
import { code, createCode } from './code.ts'
import { emailCodeError, type Settings } from './settings.ts'
import { withOwnTables } from './tables.ts'

export const LIFETIME_SECONDS: number = 10 * 60

/** Codes and links that a browser may send, after which the email is void. */
const MAX_ATTEMPTS = 5

/** What a browser sends from an email: its code, or the token of its link. */
export interface EmailProof {
  readonly code?: string
  readonly token?: string
  /** The `requestToken` of `requestEmailCode`, for a program with the session header. */
  readonly requestToken?: string
}

export const proofFields: {
  readonly [Name in keyof Required<EmailProof>]: z.ZodMiniExactOptional<z.ZodMiniType<string>>
} = {
  code: z.exactOptional(code),
  token: z.exactOptional(oneTimeToken),
  requestToken: z.exactOptional(oneTimeToken),
}

export interface PendingCode {
  /** Binds the code to the browser. */
  readonly secret: string
  readonly code: string
  /** For the link. */
  readonly token: string
  readonly expiresAt: Date
}

/** Creates a code. Always with a new secret, since another site or an attacker may know the former. */
export function createPendingCode(now: Date): PendingCode {
  const expiresAt = new Date(now.getTime() + LIFETIME_SECONDS * 1000)
  return { secret: createSecret(), code: createCode(), token: createSecret(), expiresAt }
}

/**
 * The prefix of the stored token if the request didn't use up a limit. Don't put it into the cookie: it would
 * reveal which accounts have signed in from a shared browser.
 */
const UNCOUNTED = 'uncounted:'

interface StoredCode extends PendingCode {
  readonly email: string
  readonly isSent: boolean
  /** Whether the request used up the limit of its address. */
  readonly isCounted: boolean
}

/** Stores a code. If no email has it, nothing will match the row. */
export async function insertPendingCode(
  trx: AuthTransaction,
  { secret, code, token, expiresAt, email, isSent, isCounted }: StoredCode,
): Promise<void> {
  const mark = isCounted ? '' : UNCOUNTED
  const hashes = { code: await hashOf(secret, code), token: `${mark}${await hashSecret(token)}` }
  const proof = isSent ? hashes : { code: '', token: '' }
  const row = { id: await hashSecret(secret), email, ...proof, attempts: 0, expiresAt }
  await withOwnTables(trx).insertInto('emailCode').values(row).execute()
}

/**
 * Accepts a code or a link once, from the browser that requested it, and returns the address that got it. It
 * stays used even if what it was for fails. `isCounted` is whether the request used up a limit.
 * @throws EndpointError `EMAIL_CODE_INVALID` or `EMAIL_LINK_INVALID`, AuthError `RATE_LIMITED`
 */
export async function proveMailbox(
  proof: EmailProof,
  context: EndpointContext,
  { limits }: Settings,
): Promise<{ email: string; isCounted: boolean }> {
  await countAddress(context, limits)
  const secret = readSecret(proof, context)
  if (secret === null) throw rejectionOf(proof)
  const proved = await context.change(async (trx, record) => {
    const found = await attempt(secret, trx, context.config.now())
    if (found === undefined) return null
    if (await matches(found, secret, proof)) {
      await withOwnTables(trx).deleteFrom('emailCode').where('id', '=', found.id).execute()
      return { email: found.email, isCounted: !found.token.startsWith(UNCOUNTED) }
    }
    const user = await findUser(trx, { email: found.email })
    const { address, config } = context
    const failure = { userId: user?.id ?? null, reason: 'CODE_INVALID', address } as const
    record({ type: 'sign-in.failed', at: config.now(), ...failure })
    return null
  })
  if (proved === null) throw rejectionOf(proof)
  return proved
}

/** Returns the cookie that binds a code to this browser. */
export function bindingCookie(secret: string, context: EndpointContext): string {
  const { cookies } = context.config
  return setCookie(nameOf(context), secret, { maxAgeSeconds: LIFETIME_SECONDS, ...cookies })
}

export function clearBindingCookie(context: EndpointContext): string {
  return setCookie(nameOf(context), '', { maxAgeSeconds: 0, ...context.config.cookies })
}

/** Consumes an attempt. */
async function attempt(secret: string, trx: AuthTransaction, now: Date) {
  const update = withOwnTables(trx)
    .updateTable('emailCode')
    .set(({ eb }) => ({ attempts: eb('attempts', '+', 1) }))
  const matching = update.where('id', '=', await hashSecret(secret)).where('expiresAt', '>', now)
  return matching.where('attempts', '<', MAX_ATTEMPTS).returningAll().executeTakeFirst()
}

async function matches(
  row: { code: string; token: string },
  secret: string,
  { code, token }: EmailProof,
): Promise<boolean> {
  if (token !== undefined) return row.token.replace(UNCOUNTED, '') === (await hashSecret(token))
  return code !== undefined && row.code === (await hashOf(secret, code))
}

/** Never from the body with cookies: a page could bind a browser to a code that an attacker requested. */
function readSecret({ requestToken }: EmailProof, context: EndpointContext): string | null {
  if (context.sessionTransport === 'header') return requestToken ?? null
  return readCookie(context.request.header('cookie'), nameOf(context))
}

function rejectionOf({ token }: EmailProof): EndpointError {
  return emailCodeError(token === undefined ? 'EMAIL_CODE_INVALID' : 'EMAIL_LINK_INVALID')
}

function nameOf({ config }: EndpointContext): string {
  return `${config.cookies.device}-email-code`
}

/** The database has no secret, so the hash of a short code can't be guessed from it. */
function hashOf(secret: string, code: string): Promise<string> {
  return hashSecret(JSON.stringify([secret, code]))
}
