import { expect, test } from 'vitest'
import { createTokenGate } from '../support/token-gate.ts'

const gate = await createTokenGate()
const now = Math.floor(gate.clock.now().getTime() / 1000)
const claims = gate.claims()

const without = (name: string) => Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name))
const withRaw = (members: string) => `{${members},${JSON.stringify(claims).slice(1)}`

test.each([
  ['exp of this very second', { exp: now }],
  ['exp a second ago', { exp: now - 1 }],
  ['exp in 1970', { exp: 0 }],
])('a token with %s has expired', async (_name, changed) => {
  const token = gate.forge({ payload: { ...claims, ...changed } })
  expect(await gate.send(token)).toEqual({ reason: 'TOKEN_EXPIRED', keyLookups: 1, sessionLookups: 0 })
})

test.each([
  ['nbf in a second', { ...claims, nbf: now + 1 }],
  ['nbf in the far future', { ...claims, nbf: 8.64e12 }],
  ['nbf as a string', { ...claims, nbf: String(now) }],
  ['nbf null', { ...claims, nbf: null }],
  ['nbf negative', { ...claims, nbf: -1 }],
  ['nbf with a fraction', { ...claims, nbf: 0.5 }],
  ['another audience', { ...claims, aud: 'http://localhost:3001' }],
  ['our audience in an array', { ...claims, aud: [gate.config.audience] }],
  ['our audience with a slash', { ...claims, aud: `${gate.config.audience}/` }],
  ['no audience', without('aud')],
  ['another issuer', { ...claims, iss: 'https://evil.example' }],
  ['our issuer with a slash', { ...claims, iss: `${gate.config.issuer}/` }],
  ['no issuer', without('iss')],
  ['a sub that differs from userId', { ...claims, sub: 'eve' }],
  ['a userId that differs from sub', { ...claims, userId: 'eve' }],
  ['no sub', without('sub')],
  ['no userId', without('userId')],
  ['empty sub and userId', { ...claims, sub: '', userId: '' }],
  ['sub and userId as numbers', { ...claims, sub: 1, userId: 1 }],
  ['sub and userId as arrays', { ...claims, sub: ['ada'], userId: ['ada'] }],
  ['sub and userId of 129 characters', { ...claims, sub: 'a'.repeat(129), userId: 'a'.repeat(129) }],
  ['no sessionId', without('sessionId')],
  ['an empty sessionId', { ...claims, sessionId: '' }],
  ['sessionId as an array', { ...claims, sessionId: ['s1'] }],
  ['sessionId as an object', { ...claims, sessionId: { id: 's1' } }],
  ['sessionId null', { ...claims, sessionId: null }],
  ['sessionId of 129 characters', { ...claims, sessionId: 's'.repeat(129) }],
  ['sessionId of 129 characters of two code units', { ...claims, sessionId: '😀'.repeat(129) }],
  ['no exp', without('exp')],
  ['exp as a string', { ...claims, exp: String(now + 900) }],
  ['exp as an array', { ...claims, exp: [now + 900] }],
  ['exp null', { ...claims, exp: null }],
  ['exp true', { ...claims, exp: true }],
  ['exp negative', { ...claims, exp: -1 }],
  ['exp with a fraction', { ...claims, exp: now + 0.5 }],
  ['exp beyond the last date', { ...claims, exp: 8.64e12 + 1 }],
  ['exp in milliseconds of the far future', { ...claims, exp: 1e18 }],
  ['exp that overflows a number', `{"exp":1e999,${JSON.stringify(without('exp')).slice(1)}`],
  ['no iat', without('iat')],
  ['iat as a string', { ...claims, iat: String(now) }],
  ['iat negative', { ...claims, iat: -1 }],
  ['iat beyond the last date', { ...claims, iat: 8.64e12 + 1 }],
  ['iat null', { ...claims, iat: null }],
  ['no version', without('version')],
  ['version as a string', { ...claims, version: '1' }],
  ['version null', { ...claims, version: null }],
  ['version 0', { ...claims, version: 0 }],
  ['version negative', { ...claims, version: -1 }],
  ['version with a fraction', { ...claims, version: 1.5 }],
  ['version beyond the safe integers', { ...claims, version: 2 ** 53 }],
  ['version as an array', { ...claims, version: [1] }],
  ['no jti', without('jti')],
  ['an empty jti', { ...claims, jti: '' }],
  ['claims in an array', [claims]],
  ['claims null', 'null'],
  ['claims that are a string', JSON.stringify('claims')],
  ["claims that aren't JSON", 'sub=ada'],
  ['claims inherited through __proto__', `{"__proto__":${JSON.stringify(claims)}}`],
  ['a byte order mark', `\uFEFF${JSON.stringify(claims)}`],
  ['invalid UTF-8', Buffer.from(withRaw('"name":"\xff"'), 'latin1')],
  ['an overlong encoding', Buffer.from(withRaw('"name":"\xc0\xaf"'), 'latin1')],
])('rejects a token with %s', async (_name, payload) => {
  const token = gate.forge({ payload })
  expect(await gate.send(token)).toEqual({ reason: 'TOKEN_INVALID', keyLookups: 1, sessionLookups: 0 })
})

test.each([
  ['nbf of this very second', { ...claims, nbf: now }],
  ['exp in a second', { ...claims, exp: now + 1 }],
  ['exp on the last possible date', { ...claims, exp: 8.64e12 }],
  ['ids of 128 characters', { ...claims, sessionId: 's'.repeat(128) }],
  ['ids of 128 characters of two code units', { ...claims, sessionId: '😀'.repeat(128) }],
  ['a claim of the app', { ...claims, theme: 'dark' }],
  ['a claim named __proto__', withRaw('"__proto__":{"userId":"eve"}')],
])('accepts a token with %s', async (_name, payload) => {
  const token = gate.forge({ payload })
  expect(await gate.send(token)).toEqual({ reason: 'accepted', keyLookups: 1, sessionLookups: 1 })
})

test("rejects another audience before it checks expiry, so it reveals nothing about the server's clock", async () => {
  const token = gate.forge({ payload: { ...claims, aud: 'http://localhost:3001', exp: now - 1 } })
  expect(await gate.send(token)).toMatchObject({ reason: 'TOKEN_INVALID' })
})
