import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENDPOINTS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { describe, expect, test } from 'vitest'
import { coreEndpoints } from '../../src/endpoints/core-endpoints.ts'
import { everyPasswordOption, startEveryPlugin } from '../support/every-plugin.ts'

const everyPlugin = await startEveryPlugin()

const root = join(import.meta.dirname, '../../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('docs/plugins.md has the text of nicknames.ts, which is tested', () => {
  const code = readFileSync(join(import.meta.dirname, 'nicknames.ts'), 'utf8')
  expect(read('docs/plugins.md')).toContain(`\`\`\`ts\n// nicknames.ts\n${code}\`\`\`\n`)
})

describe('docs/endpoints.md', () => {
  const text = read('docs/endpoints.md')
  const rows = text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const plugins = [emailPassword(everyPasswordOption), admin(), ...everyPlugin]
  const endpoints = Object.entries(
    Object.assign({}, coreEndpoints(plugins), ...plugins.map((plugin) => plugin.endpoints)) as ReturnType<
      typeof coreEndpoints
    >,
  ).filter(([name]) => !name.startsWith('oauth-callback:'))

  test('names every endpoint that there is', () => {
    expect(endpoints.map(([name]) => name).sort()).toEqual(Object.keys(ENDPOINTS).sort())
  })

  test.each(endpoints)('says how %s is called, and by whom', (name, { method, path, caller }) => {
    const row = rows.find(([, cell]) => cell === `\`${name}\``)
    expect(row?.slice(2, 4)).toEqual([`\`${method} ${path}\``, caller])
  })

  test.each(endpoints.filter(([, { setsCookies }]) => setsCookies))('says that %s sets cookies', (name) => {
    const row = rows.find(([, cell]) => cell === `\`${name}\``)
    expect(row?.[5]).toMatch(/cookie/)
  })
})
