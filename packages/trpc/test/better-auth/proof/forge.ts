import { createHmac } from 'node:crypto'
import type { Random } from '../../../../core/test/support/random.ts'
import { SECRET } from './open-auth.ts'
import type { Person } from './person.ts'

/** Signs like Better Auth. */
export const sign = (token: string, secret = SECRET): string =>
  createHmac('sha256', secret).update(token).digest('base64')

/** What a forger may have. */
export interface Loot {
  readonly victim: Person
  /** Another user, whose cookies the forger has. */
  readonly forger: Person
  readonly random: Random
}

type Forge = (loot: Loot) => string

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
const encode = encodeURIComponent
const all = (text: string) =>
  [...Buffer.from(text)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')

/** The decoded value of a cookie; empty without one. */
function cookieOf({ page }: Person, name: RegExp): string {
  const [, value = ''] = [...page.cookies.cookies].find(([key]) => name.test(key)) ?? []
  return value
}

function respell(signature: string, random: Random): string {
  // The last character before "=" carries two unused bits.
  const last = ALPHABET.indexOf(signature.at(-2) ?? 'A')
  return `${signature.slice(0, -2)}${ALPHABET[last ^ (1 + random.below(3))]}=`
}

function change(text: string, random: Random): string {
  const at = random.below(text.length)
  const other = ALPHABET[(ALPHABET.indexOf(text[at] ?? 'A') + 1 + random.below(62)) % 64]
  return text.slice(0, at) + other + text.slice(at + 1)
}

/** Values of the session cookie that no signature of Better Auth covers, as sent. */
export const FORGERIES: Readonly<Record<string, Forge>> = {
  'an unsigned token': ({ victim }) => victim.token,
  'an empty signature': ({ victim }) => `${victim.token}.`,
  'only a signature': ({ victim }) => encode(`.${sign(victim.token)}`),
  'another secret': ({ random, victim }) =>
    encode(`${victim.token}.${sign(victim.token, `secret ${random.below(1e9)}`)}`),
  'the signature of another token': ({ forger, victim }) => encode(`${victim.token}.${sign(forger.token)}`),
  'a changed token': ({ random, victim }) => encode(`${change(victim.token, random)}.${sign(victim.token)}`),
  'a changed signature': ({ random, victim }) =>
    encode(
      `${victim.token}.${change(sign(victim.token).slice(0, 42), random)}${sign(victim.token).slice(42)}`,
    ),
  'a respelled signature': ({ random, victim }) =>
    encode(`${victim.token}.${respell(sign(victim.token), random)}`),
  'a truncated signature': ({ random, victim }) =>
    encode(`${victim.token}.${sign(victim.token).slice(0, random.below(43))}`),
  'a longer signature': ({ random, victim }) =>
    encode(`${victim.token}.${sign(victim.token)}${'A=.%'[random.below(4)]}`),
  'a signature in base64url': ({ victim }) =>
    encode(`${victim.token}.${sign(victim.token).replaceAll('+', '-').replaceAll('/', '_').slice(0, -1)}`),
  'a signature in hexadecimal': ({ victim }) =>
    `${victim.token}.${createHmac('sha256', SECRET).update(victim.token).digest('hex')}`,
  'spaces for +': ({ victim }) => `${victim.token}.${`+${sign(victim.token).slice(1)}`.replaceAll('+', ' ')}`,
  'encoded twice': ({ victim }) => encode(encode(`${victim.token}.${sign(victim.token)}`)),
  'a broken escape': ({ random, victim }) =>
    `${encode(`${victim.token}.${sign(victim.token)}`)}%${'gz%'[random.below(3)]}`,
  'an escaped forgery': ({ forger, victim }) => all(`${victim.token}.${sign(forger.token)}`),
  'an escaped NUL': ({ victim }) => encode(`${victim.token}\0.${sign(victim.token)}`),
  'NUL after the signature': ({ victim }) => encode(`${victim.token}.${sign(victim.token)}\0`),
  'unicode letters': ({ victim }) => encode(`${victim.token}é.${sign(victim.token)}`),
  'a signed id': ({ victim }) => encode(`${victim.userId}.${sign(victim.userId)}`),
  "dont_remember's value": ({ forger }) =>
    cookieOf(forger, /dont_remember$/) || encode(`true.${sign('true')}`),
  "two_factor's value": ({ forger }) => cookieOf(forger, /two_factor$/),
  session_data: ({ victim }) => cookieOf(victim, /session_data$/),
  'a multi-session cookie with the signature of another': ({ forger, victim }) => {
    const [, signature = ''] = decodeURIComponent(cookieOf(forger, /_multi-/)).split('.')
    return encode(`${victim.token}.${signature}`)
  },
  'a very long token': ({ random, victim }) =>
    encode(`${victim.token.repeat(10 + random.below(100))}.${sign(victim.token)}`),
  'a longer token with its own signature': ({ victim }) =>
    encode(`${victim.token}x.${sign(`${victim.token}x`)}`),
  'a prefix of the token with its own signature': ({ random, victim }) => {
    const token = victim.token.slice(0, random.below(victim.token.length))
    return encode(`${token}.${sign(token)}`)
  },
  'the token in other case with its own signature': ({ victim }) =>
    encode(`${victim.token.toLowerCase()}.${sign(victim.token.toLowerCase())}`),
  'a pattern of SQL with its own signature': () => encode(`%.${sign('%')}`),
  nothing: () => '',
}
