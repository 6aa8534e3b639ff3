import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REASONS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { organization } from '@sallyport/core/plugins/organization'
import { describe, expect, test } from 'vitest'
import { ENDPOINT_ERRORS } from '../../src/protocol/endpoint-error.ts'

const root = join(import.meta.dirname, '../../../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const page = read('docs/errors.md')

/** The HTTP status of each tRPC code of the internal listener. */
const STATUSES: Readonly<Record<string, string>> = {
  BAD_REQUEST: '400',
  UNAUTHORIZED: '401',
  FORBIDDEN: '403',
  NOT_FOUND: '404',
  METHOD_NOT_SUPPORTED: '405',
  CONFLICT: '409',
  PAYLOAD_TOO_LARGE: '413',
  SERVICE_UNAVAILABLE: '503',
}

/** The text below a heading, up to the next one of its level or above. */
function section(heading: string): string {
  const level = heading.indexOf(' ')
  const [, text = ''] = `\n${page}`.split(`\n${heading}\n`)
  return text.split(new RegExp(`\n#{1,${level}} `))[0] ?? ''
}

/** The first two cells of each row of the tables in a text, without their header: a code and what is beside it. */
const rows = (text: string) =>
  [...text.matchAll(/^\| `(.+?)` *\| (.*?) *\|/gm)].map(([, code = '', second = '']) => [code, second])

describe('docs/errors.md', () => {
  test('has a heading and a row for each reason, in the order of the list, and for nothing else', () => {
    const reasons = Object.keys(REASONS)
    const list = section('## Reasons')
    expect([...list.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)).toEqual(reasons)
    const listed = [...list.matchAll(/^\| \[`(\w+)`\]\(#(\w+)\) *\| (\d+)/gm)].map((match) => match.slice(1))
    expect(listed).toEqual(
      Object.entries(REASONS).map(([reason, { status }]) => [reason, reason.toLowerCase(), String(status)]),
    )
  })

  test.each(Object.entries(REASONS))(
    'says status, code and text of %s, its causes with their cures, and what the client does',
    (reason, rejection) => {
      const text = section(`### ${reason}`)
      expect(text.trim().split('\n')[0]).toBe(
        `${rejection.status} \`${rejection.code}\`: "${rejection.message}".`,
      )
      expect(text).toMatch(/^\| Cause +\| Cure +\|\n\| -+ \| -+ \|\n\| [^|]+ \| [^|]+ \|$/m)
      expect(text).toMatch(/^The client: /m)
    },
  )

  test('has a row with the status for each code of an endpoint, and for nothing else', () => {
    const tables = [{ reasons: ENDPOINT_ERRORS }, emailPassword(), admin(), organization()]
    const codes = tables.flatMap(({ reasons = {} }) =>
      Object.entries(reasons).map(([code, { status }]) => [code, String(status)]),
    )
    expect(rows(section('## Codes of the endpoints')).toSorted()).toEqual(codes.toSorted())
  })

  test("has a row for each code of the client's own, and for nothing else", () => {
    const source = read('packages/trpc/src/client/auth-client-error.ts')
    const [, messages = ''] = /const ERRORS = \{(.*?)\n\}/s.exec(source) ?? []
    const codes = [...messages.matchAll(/^ {2}(\w+):/gm)].map(([, code = '']) => code)
    const own = codes.filter((code) => !(code in REASONS)).toSorted()
    expect(own.length).toBeGreaterThan(0)
    const listed = rows(section("## Codes of the client's own")).map(([code]) => code)
    expect(listed.toSorted()).toEqual(own)
  })

  test('has a row with the status for each code of the internal listener, and for nothing else', () => {
    const source = read('packages/trpc/src/runtime/call/call-rejection.ts')
    const codes = [...source.matchAll(/^ {2}([A-Z_]+): '([A-Z_]+)',$/gm)].map(([, code, name]) => [
      code,
      STATUSES[name ?? ''],
    ])
    expect(codes.length).toBeGreaterThan(0)
    expect(rows(section('## Codes of the internal listener'))).toEqual(codes)
  })

  test('quotes messages that the code has', () => {
    const source = globSync('packages/{core,trpc}/src/**/*.ts', { cwd: root }).map(read).join('\n')
    const quoted = rows(section('## When an app is put together wrongly')).map(([message = '']) => message)
    const messages = quoted.filter(
      (message) => !/^(listen EADDRINUSE|Unexpected response|Cannot find)/.test(message),
    )
    expect(messages.length).toBeGreaterThan(20)
    const missing = messages.filter((message) => !message.split('…').every((part) => source.includes(part)))
    expect(missing).toEqual([])
  })
})
