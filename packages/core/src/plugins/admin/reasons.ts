import { type RejectionTable, rejections } from '../../protocol/endpoint-error.ts'

/** What may be wrong with a call of an admin endpoint. */
export const REASONS_OF_ADMIN = {
  OWN_ACCOUNT: { status: 409, message: 'An admin cannot do this to themselves' },
} as const
REASONS_OF_ADMIN satisfies RejectionTable

/** Makes a refusal of {@link REASONS_OF_ADMIN}. */
export const refuseAdmin: ReturnType<typeof rejections<typeof REASONS_OF_ADMIN>> =
  rejections(REASONS_OF_ADMIN)
