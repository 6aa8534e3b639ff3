import { MIN_PASSWORD_LENGTH } from './password.ts'
import { isPredictable, repeatedPart } from './predictable-text.ts'

let loading: Promise<ReadonlySet<string>> | undefined

/**
 * Whether a password is among those that are tried first, in any case: one of some 49,000 from leaks, a
 * sequence, or a repetition of a text that would be rejected itself. The list is loaded when the first
 * password is chosen.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  const candidate = password.toLowerCase()
  const part = repeatedPart(candidate)
  if (part !== candidate && [...part].length < MIN_PASSWORD_LENGTH) return true
  if (isPredictable(part)) return true
  loading ??= loadList()
  try {
    const list = await loading
    return list.has(candidate) || list.has(part)
  } catch (error) {
    loading = undefined
    throw error
  }
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
