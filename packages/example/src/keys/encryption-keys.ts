import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { env, isEdge, isProduction } from '../env.ts'

/** The keys that encrypt secrets in the database. The edge has no database. */
export const encryptionKeys = isEdge ? undefined : loadEncryptionKeys()

function loadEncryptionKeys(): string {
  if (env.ENCRYPTION_KEYS !== undefined) return env.ENCRYPTION_KEYS
  if (!isProduction) return readOrCreate(env.ENCRYPTION_KEY_FILE)
  console.error('In production, ENCRYPTION_KEYS comes from the environment: openssl rand -base64 32')
  process.exit(1)
}

function readOrCreate(path: string): string {
  try {
    mkdirSync(dirname(path), { recursive: true })
    // Fails if the file exists.
    writeFileSync(path, randomBytes(32).toString('base64'), { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  return readFileSync(path, 'utf8')
}
