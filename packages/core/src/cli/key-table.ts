import { type KeyRing, secondsUntilPublished } from '../keys/key-ring.ts'

/** A key in `sallyport keys list`. Has nothing secret. */
export interface KeyRow {
  readonly kid: string
  readonly alg: string
  readonly state: string
  readonly since: string
  readonly comment: string
}

export function describeKeys({ keys, revoked }: KeyRing, now: Date): KeyRow[] {
  return [
    ...keys.map((key) => {
      const { jwk, state, since } = key
      const waitSeconds = secondsUntilPublished(key, now)
      const comment = {
        next: waitSeconds > 0 ? `may sign in ${waitSeconds} s` : 'may sign: sallyport keys rotate',
        active: 'signs',
        retiring: 'verifies until the last JWT it signed has expired',
      }[state]
      return { kid: jwk.kid, alg: jwk.alg, state, since: since.toISOString(), comment }
    }),
    ...revoked.map(({ kid, at }) => ({
      kid,
      alg: '',
      state: 'revoked',
      since: at.toISOString(),
      comment: 'leaked: nothing it signed is valid',
    })),
  ]
}

export function formatTable(rows: readonly KeyRow[]): string {
  const lines = rows.map(
    ({ kid, alg, state, since, comment }) =>
      `${kid.padEnd(44)} ${alg.padEnd(8)} ${state.padEnd(9)} ${since}  ${comment}`,
  )
  return lines.join('\n')
}
