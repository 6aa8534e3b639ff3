import { describe, expect, test } from 'vitest'
import { emailAddress } from '../../src/plugins/internal.ts'

describe('an email address', () => {
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['ADA@Example.COM', 'ada@example.com'],
    [' \t\nada@example.com\r\n ', 'ada@example.com'],
    ['\u00a0ada@example.com\ufeff', 'ada@example.com'],
    ['ada+sally@example.com', 'ada+sally@example.com'],
    ['a.d.a@mail.example.co.uk', 'a.d.a@mail.example.co.uk'],
    ["o'brien@example.com", "o'brien@example.com"],
    // The Kelvin sign, which is a k in lower case.
    ['\u212a@example.com', 'k@example.com'],
  ])('%j is stored and looked up as %j', (written, stored) => {
    expect(emailAddress.safeParse(written)).toEqual({ success: true, data: stored })
  })

  test.each([
    '',
    ' ',
    'ada',
    'ada@',
    '@example.com',
    'ada@localhost',
    'ada@@example.com',
    'ada @example.com',
    'ada@exam ple.com',
    'ada@example.com, eve@example.com',
    'ada@example.com\neve@example.com',
    'Ada <ada@example.com>',
    'mailto:ada@example.com',
    'ada@[127.0.0.1]',
    '.ada@example.com',
    'ada..b@example.com',
    'adа@example.com',
    'ada@exаmple.com',
    'ada@example.com\u0000',
    `${'x'.repeat(320)}@example.com`,
    `ada@example.com${' '.repeat(320)}`,
    null,
    1,
    ['ada@example.com'],
    { email: 'ada@example.com' },
  ])('%j is none', (written) => {
    expect(emailAddress.safeParse(written).success).toBe(false)
  })

  test('is the same however often it is normalised', () => {
    const once = emailAddress.parse(' ADA@Example.com ')
    expect(emailAddress.parse(once)).toBe(once)
  })
})
