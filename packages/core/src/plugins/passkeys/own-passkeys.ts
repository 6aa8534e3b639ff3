import * as z from 'zod/mini'
import { defineEndpoint, type Endpoint } from '../../endpoints/endpoint.ts'
import { anyQuery, done } from '../../endpoints/plain-schemas.ts'
import { userName } from '../../endpoints/user-record.ts'
import { ENDPOINTS, type SuccessResponse } from '../../protocol.ts'
import { toIso } from '../../session/session-row.ts'
import { credentialId } from './responses.ts'
import { passkeyError } from './settings.ts'
import { withOwnTables } from './tables.ts'

export const passkeyName: z.ZodMiniType<string> = userName.check(z.maxLength(64))

export interface PasskeyResponse {
  /** The credential id, in base64url. */
  id: string
  /** The user's name for it. */
  name: string
  /** Whether it can be synchronized between devices, so losing one device doesn't lose it. */
  synced: boolean
  /** Null if it was never used. */
  lastUsedAt: string | null
  createdAt: string
}

const passkey: z.ZodMiniType<PasskeyResponse> = z.object({
  id: z.string(),
  name: z.string(),
  synced: z.boolean(),
  lastUsedAt: z.nullable(z.string()),
  createdAt: z.string(),
})

/** Lists the caller's passkeys, the newest first. */
export const listPasskeys: Endpoint<object, { passkeys: PasskeyResponse[] }, false> = defineEndpoint({
  ...ENDPOINTS.listPasskeys,
  caller: 'user',
  input: anyQuery,
  output: z.object({ passkeys: z.array(passkey) }),
  async run(_input, { identity: { userId }, database: { db } }) {
    const columns = ['id', 'name', 'synced', 'lastUsedAt', 'createdAt'] as const
    const query = withOwnTables(db).selectFrom('passkeyCredential').select(columns)
    const rows = await query.where('userId', '=', userId).orderBy('createdAt', 'desc').execute()
    const passkeys = rows.map(({ id, name, synced, lastUsedAt, createdAt }) => ({
      id,
      name,
      synced: Boolean(synced),
      lastUsedAt: lastUsedAt === null ? null : toIso(lastUsedAt),
      createdAt: toIso(createdAt),
    }))
    return { body: { passkeys } }
  },
})

export interface RenamePasskeyInput {
  id: string
  name: string
}

/** Renames one of the caller's passkeys. */
export const renamePasskey: Endpoint<RenamePasskeyInput, SuccessResponse, false> = defineEndpoint({
  ...ENDPOINTS.renamePasskey,
  caller: 'user',
  input: z.strictObject({ id: credentialId, name: passkeyName }),
  output: done,
  async run({ id, name }, { identity: { userId }, change }) {
    await change(async (trx) => {
      const update = withOwnTables(trx).updateTable('passkeyCredential').set({ name }).where('id', '=', id)
      const { numUpdatedRows } = await update.where('userId', '=', userId).executeTakeFirst()
      if (numUpdatedRows === 0n) throw passkeyError('PASSKEY_NOT_FOUND')
    })
    return { body: { success: true } }
  },
})
