// Part of most test files. Most users of tests have the same password, so argon2 hashes and verifies each one
// once in a process. Files that test hashing have their own processes, without this.
import { createRequire } from 'node:module'

interface Argon2 {
  hash(password: string, options: object): Promise<string>
  verify(hash: string, password: string): Promise<boolean>
  /** The process may have run another file before. */
  isRemembering?: true
}

const require = createRequire(import.meta.resolve('@sallyport/core/plugins/email-password'))
// CommonJS, so core imports the replacement.
const argon2: Argon2 = require('@node-rs/argon2')

if (!argon2.isRemembering) {
  argon2.hash = remember(argon2.hash)
  argon2.verify = remember(argon2.verify)
  argon2.isRemembering = true
}

function remember<Args extends unknown[], Result>(compute: (...args: Args) => Promise<Result>) {
  const results = new Map<string, Promise<Result>>()
  return (...args: Args): Promise<Result> => {
    const key = JSON.stringify(args)
    const result = results.get(key) ?? compute(...args)
    results.set(key, result)
    return result
  }
}
