import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { REASONS } from '@sallyport/core/internal/protocol'
import { admin } from '@sallyport/core/plugins/admin'
import { anonymous } from '@sallyport/core/plugins/anonymous'
import { emailCode } from '@sallyport/core/plugins/email-code'
import { emailPassword } from '@sallyport/core/plugins/email-password'
import { oauth } from '@sallyport/core/plugins/oauth'
import { organization } from '@sallyport/core/plugins/organization'
import { passkeys } from '@sallyport/core/plugins/passkeys'
import { totp } from '@sallyport/core/plugins/totp'
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

/** The text below a heading, up to the next heading of its level or above. */
function section(heading: string): string {
  const level = heading.indexOf(' ')
  const [, text = ''] = `\n${page}`.split(`\n${heading}\n`)
  return text.split(new RegExp(`\n#{1,${level}} `))[0] ?? ''
}

/** The first two cells of each table row that begins with a code. */
const rows = (text: string) =>
  [...text.matchAll(/^\| `(.+?)` *\| (.*?) *\|/gm)].map(([, code = '', second = '']) => [code, second])

describe('docs/errors.md', () => {
  test('has a heading for each reason, in order, and no others', () => {
    const headings = [...section('## Reasons').matchAll(/^### (.*)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(Object.keys(REASONS))
  })

  test.each(Object.entries(REASONS))(
    'says status, code, and message of %s, causes with fixes, and what the client does',
    (reason, rejection) => {
      const text = section(`### ${reason}`)
      expect(text.trim().split('\n')[0]).toBe(
        `${rejection.status} \`${rejection.code}\`: "${rejection.message}"`,
      )
      expect(text).toMatch(/^\| Cause +\| Fix +\|\n\| -+ \| -+ \|\n\| [^|]+ \| [^|]+ \|$/m)
      expect(text).toMatch(/^\*\*Client:\*\* /m)
    },
  )

  test('has a row with the status for each endpoint code, and no others', () => {
    const tables = [
      { reasons: ENDPOINT_ERRORS },
      emailPassword(),
      admin(),
      organization(),
      totp({ issuer: 'Test' }),
      passkeys(),
      emailCode({ sendEmail: async () => {} }),
      anonymous(),
      oauth({ providers: {} }),
    ]
    const codes = tables.flatMap(({ reasons = {} }) =>
      Object.entries(reasons).map(([code, { status }]) => [code, String(status)]),
    )
    expect(rows(section('## Endpoint codes')).toSorted()).toEqual(codes.toSorted())
  })

  test('has a row for each client code, and no others', () => {
    const source = read('packages/trpc/src/client/auth-client-error.ts')
    const [, messages = ''] = /const ERRORS = \{(.*?)\n\}/s.exec(source) ?? []
    const codes = [...messages.matchAll(/^ {2}(\w+):/gm)].map(([, code = '']) => code)
    const popup = read('packages/trpc/src/client/open-popup.ts')
    const ofPopup = [...popup.matchAll(/ error\('(\w+)'/g)].map(([, code = '']) => code)
    const bearer = read('packages/trpc/src/client/transport.ts')
    const ofBearer = [...bearer.matchAll(/ code: '(\w+)'/g)].map(([, code = '']) => code)
    const ofServer = { ...REASONS, ...oauth({ providers: {} }).reasons }
    const own = [...codes, ...ofPopup, ...ofBearer].filter((code) => !(code in ofServer)).toSorted()
    expect(own.length).toBeGreaterThan(0)
    const listed = rows(section('## Client codes')).map(([code]) => code)
    expect(listed.toSorted()).toEqual(own)
  })

  test('has a row with the status for each internal listener code, and no others', () => {
    const source = read('packages/trpc/src/runtime/call/call-rejection.ts')
    const codes = [...source.matchAll(/^ {2}([A-Z_]+): '([A-Z_]+)',$/gm)].map(([, code, name]) => [
      code,
      STATUSES[name ?? ''],
    ])
    expect(codes.length).toBeGreaterThan(0)
    expect(rows(section('## Internal listener codes'))).toEqual(codes)
  })

  test('quotes messages from the source', () => {
    const source = globSync('packages/{core,trpc}/src/**/*.ts', { cwd: root }).map(read).join('\n')
    const quoted = rows(section('## Configuration errors')).map(([message = '']) => message)
    const messages = quoted.filter((message) => !/^(Unexpected response|Cannot find)/.test(message))
    expect(messages.length).toBeGreaterThan(10)
    const missing = messages.filter((message) => !message.split('…').every((part) => source.includes(part)))
    expect(missing).toEqual([])
  })
})
