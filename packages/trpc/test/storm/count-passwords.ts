// Loaded with `--import`, before any password check. Counts argon2's actual calls.
import { createRequire } from 'node:module'

/** The number of checked passwords. */
export const passwords: { checked: number } = { checked: 0 }

// Core's copy. It is CommonJS, so core imports the replacement.
const requireFromCore = createRequire(import.meta.resolve('@sallyport/core/auth'))
const argon2: { verify(...options: unknown[]): unknown } = requireFromCore('@node-rs/argon2')
const { verify } = argon2
argon2.verify = (...options) => {
  passwords.checked++
  return verify(...options)
}
