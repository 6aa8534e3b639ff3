import { parseSigningKeys } from '@sallyport/core/auth'
import { createSigningKey } from '@sallyport/core/internal/auth'

export const signingKeys = parseSigningKeys({ keys: [await createSigningKey()] })
