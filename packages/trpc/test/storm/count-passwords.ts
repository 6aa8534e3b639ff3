// Loaded with `--import`, before anything that checks passwords: counts what argon2 is really asked, whatever the code around it says.
import { createRequire } from 'node:module'

/** Passwords that were checked so far. */
export const passwords: { checked: number } = { checked: 0 }

// The copy that core has. It is CommonJS, so core imports what stands here now.
const requireFromCore = createRequire(import.meta.resolve('@sallyport/core/auth'))
const argon2: { verify(...options: unknown[]): unknown } = requireFromCore('@node-rs/argon2')
const { verify } = argon2
argon2.verify = (...options) => {
  passwords.checked++
  return verify(...options)
}
