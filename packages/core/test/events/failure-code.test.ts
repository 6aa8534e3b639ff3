import { AuthError } from '@sallyport/core'
import { describe, expect, test } from 'vitest'
import { failureCode } from '../../src/events/failure-code.ts'
import { oauthError } from '../../src/plugins/oauth/errors.ts'

const coded = (code: string) => Object.assign(new Error('Failed'), { code })
const unavailable = (cause: Error) => new AuthError('SESSIONS_UNAVAILABLE', { cause })

describe('the code of a 503', () => {
  test.each([
    [coded('SQLITE_READONLY_DBMOVED'), 'DATABASE_FILE_REPLACED'],
    [coded('SQLITE_READONLY'), 'DATABASE_READ_ONLY'],
    [coded('ETIMEDOUT'), 'DATABASE_TIMEOUT'],
    [new Error('Query read timeout'), 'DATABASE_TIMEOUT'],
    [new Error('timeout expired'), 'DATABASE_TIMEOUT'],
    [new Error('timeout exceeded when trying to connect'), 'POOL_EXHAUSTED'],
    [coded('ECONNREFUSED'), 'DATABASE_UNAVAILABLE'],
  ])('%s: %s', (cause, code) => {
    expect(failureCode(unavailable(cause))).toBe(code)
  })

  test('of a provider, whatever its connection says', () => {
    const error = oauthError('PROVIDER_UNAVAILABLE', { cause: coded('ETIMEDOUT') })
    expect(failureCode(error)).toBe('PROVIDER_UNAVAILABLE')
  })
})
