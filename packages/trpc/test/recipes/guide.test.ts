import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT, readDocuments } from '../documents/read-documents.ts'

const codeOf = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8')

test.each(['supabase/auth.config.ts', 'supabase/mapping.ts'])(
  'docs/migrating.md has the code of %s',
  (file) => {
    const page = readDocuments().find(({ path }) => path === 'docs/migrating.md')
    const name = file.slice(file.indexOf('/') + 1)
    expect(page?.blocks.map(({ code }) => code)).toContain(`// ${name}\n${codeOf(file)}`)
  },
)

test('docs/migrating.md has the query, cookie, and mapping for Auth.js', () => {
  const page = readFileSync(join(ROOT, 'docs/migrating.md'), 'utf8')
  const code = codeOf('auth-js/auth.config.ts') + codeOf('auth-js/database.ts')
  const values = code.match(/authjs\.session-token|select id .* = \$1|session: \{ columns: .*\} \}/g)
  expect(values).toHaveLength(3)
  for (const value of values ?? []) expect(page).toContain(value)
})
