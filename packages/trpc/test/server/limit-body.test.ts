import { TRPCError } from '@trpc/server'
import { expect, test } from 'vitest'
import { limitBody } from '../../src/server/limit-body.ts'
import { ORIGIN } from '../support/visitor.ts'

const post = (body: string) =>
  new Request(`${ORIGIN}/trpc/note`, { method: 'POST', headers: { 'x-own': '1' }, body })

test('passes a body of the maximum size on, with its request', async () => {
  const limited = limitBody(post('12345'), 5)
  expect([limited.method, limited.url, limited.headers.get('x-own')]).toEqual([
    'POST',
    `${ORIGIN}/trpc/note`,
    '1',
  ])
  expect(await limited.text()).toBe('12345')
})

test('fails with 413 at the first byte too many', async () => {
  const error = await limitBody(post('123456'), 5)
    .text()
    .catch((cause: unknown) => cause)
  expect(error).toBeInstanceOf(TRPCError)
  expect(error).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
})

test('returns a request without a body as it is', () => {
  const request = new Request(ORIGIN)
  expect(limitBody(request)).toBe(request)
})
