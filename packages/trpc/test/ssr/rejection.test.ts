import { AuthError } from '@sallyport/core'
import { TRPCError } from '@trpc/server'
import { expect, test } from 'vitest'
import { rejectionOf } from '../../src/ssr/rejection.ts'

const cause = new AuthError('TOKEN_EXPIRED')
const remote = (auth: unknown) => Object.assign(new Error('rejected'), { data: { auth } })

test.each([
  ['an AuthError', cause, { reason: 'TOKEN_EXPIRED', isReplayable: true }],
  [
    'what a caller throws',
    new TRPCError({ code: 'UNAUTHORIZED', cause }),
    { reason: 'TOKEN_EXPIRED', isReplayable: true },
  ],
  [
    'what a client throws',
    remote({ reason: 'TOKEN_EXPIRED', replay: true }),
    { reason: 'TOKEN_EXPIRED', isReplayable: true },
  ],
  [
    'what a client throws after the resolver ran',
    remote({ reason: 'TOKEN_EXPIRED', replay: false }),
    { reason: 'TOKEN_EXPIRED', isReplayable: false },
  ],
  ['an error of the app', new Error('a bug', { cause: new Error('another') }), null],
  ['one of tRPC', new TRPCError({ code: 'NOT_FOUND' }), null],
  ['a reason that there is not', remote({ reason: 'toString', replay: true }), null],
  ['an error without data', remote(null), null],
  ['no error', undefined, null],
  ['a text', 'TOKEN_EXPIRED', null],
])('%s', (_what, error, rejection) => {
  expect(rejectionOf(error)).toEqual(rejection)
})
