import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const source = (file: string) => new URL(`../src/${file}`, import.meta.url)

/** A module and all that it reaches by relative imports, those of types included. */
function reachableFrom(file: URL, reached: Set<string> = new Set()): Set<string> {
  if (reached.has(file.href)) return reached
  reached.add(file.href)
  for (const [, specifier] of readFileSync(file, 'utf8').matchAll(/(?:from |import |import\()'(\.[^']+)'/g))
    reachableFrom(new URL(specifier ?? '', file), reached)
  return reached
}

test('no procedure can reach the auth definition with its plugins', () => {
  const definition = source('auth.ts').href
  for (const file of ['procedures.ts', 'routers/app.ts']) {
    const reached = reachableFrom(source(file))
    expect(reached).toContain(source('context.ts').href)
    expect(reached).not.toContain(definition)
  }
  expect(reachableFrom(source('server.ts'))).toContain(definition)
})
