import { createSigningKey, parseSigningKeys } from '@sallyport/core/auth'

export const signingKeys = parseSigningKeys({ keys: [await createSigningKey()] })
