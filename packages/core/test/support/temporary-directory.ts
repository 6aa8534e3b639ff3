import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/** Creates a directory that is removed after the tests of the file. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'sallyport-'))
  afterAll(() => rmSync(path, { recursive: true, force: true }))
  return path
}
