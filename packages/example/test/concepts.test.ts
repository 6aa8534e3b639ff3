import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const example = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(example, file), 'utf8')
const sources = globSync('src/**/*.{ts,tsx}', { cwd: example, exclude: ['src/generated/**'] })

/** Each concept, the one file that shows it, and the code to search for. */
const CONCEPTS: [concept: string, file: string, code: RegExp][] = [
  ['`getSession` in a query', 'src/routers/organization-queries.ts', /await getSession\(ctx\)/],
  ['`optionalSessionMiddleware`', 'src/procedures.ts', /\.use\(optionalSessionMiddleware\)/],
  [
    'An admin mutation',
    'src/routers/admin.ts',
    /: adminProcedure\s+\.use\(authErrorMiddleware\)[\s\S]+\.mutation\(/,
  ],
  [
    '`ctx.auth.api` in an authed action',
    'src/routers/sessions.ts',
    /authedAction\.query[\s\S]+ctx\.auth\.api/,
  ],
  ['`getAuth` in an HTTP route', 'src/export-sessions.ts', /getAuth\(\{ auth, \.\.\.bindRunner/],
  ['`getAuth` in an organization mutation', 'src/routers/organizations.ts', /getAuth\(ctx\)\.api\.createOrg/],
  ['A sensitive mutation', 'src/routers/account.ts', /: sensitiveProcedure[\s\S]+\.mutation\(/],
  ['`ctx.user.isAnonymous` in a guard', 'src/procedures.ts', /if \(user\.isAnonymous\) throw/],
  ['A bearer client', 'src/clients/bearer-client.ts', /transport: bearer\(/],
  ['An SSE client', 'src/clients/sse-client.ts', /links: .*subscriptionLink\(/],
  ['A WebSocket client', 'src/web/clients.ts', /webSocketLink\(/],
]

const readme = readFileSync(join(example, 'README.md'), 'utf8').replaceAll(/ +/g, ' ')

test.each(CONCEPTS)('%s is shown once, in %s', (concept, file, code) => {
  expect(sources.filter((source) => code.test(read(source)))).toEqual([file])
  expect(readme.includes(`| ${concept} | \`${file}\` |`)).toBe(true)
})

test('the first table of the README names files that exist', () => {
  const [, table = ''] = /\n\| File \|(.*?)\n\n/s.exec(readme) ?? []
  const rows = table.split('\n').slice(2)
  expect(rows.length).toBeGreaterThan(5)
  const missing = rows.flatMap((row) => {
    const names = Array.from((row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g), ([, name = '']) => name)
    const folder = dirname(names[0] ?? '')
    return names.filter((name) => !existsSync(join(example, name.includes('/') ? name : join(folder, name))))
  })
  expect(missing).toEqual([])
})

test('no query calls getAuth', () => {
  const query = /\.query\((?:(?!\.mutation\()[\s\S])*getAuth\(/
  expect(sources.filter((source) => query.test(read(source)))).toEqual([])
})
