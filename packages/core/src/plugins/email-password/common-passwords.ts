let loading: Promise<ReadonlySet<string>> | undefined

/**
 * Whether a password is among those that are tried first, in any case, or is the email address it is for. The list has some 49,000
 * entries from leaks; it is loaded when the first password is chosen.
 */
export async function isCommonPassword(password: string, emailAddress: string): Promise<boolean> {
  const candidate = password.toLowerCase()
  const [name] = emailAddress.split('@')
  if (candidate === emailAddress || candidate === name) return true
  loading ??= loadList()
  try {
    return (await loading).has(candidate)
  } catch (error) {
    loading = undefined
    throw error
  }
}

async function loadList(): Promise<ReadonlySet<string>> {
  const { dictionary } = await import('@zxcvbn-ts/language-common')
  return new Set(dictionary['passwords-common'])
}
