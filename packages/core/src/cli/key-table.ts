import { type KeyRing, PUBLISH_SECONDS } from '../keys/key-ring.ts'

/** One key as `sallyport keys list` shows it. Holds nothing secret. */
export interface KeyRow {
  readonly kid: string
  readonly alg: string
  readonly state: string
  readonly since: string
  readonly comment: string
}

/** What there is to know about every key of a ring. */
export function describeKeys({ keys, revoked }: KeyRing, now: Date): KeyRow[] {
  return [
    ...keys.map(({ jwk, state, since }) => {
      const waitSeconds = Math.ceil(PUBLISH_SECONDS - (now.getTime() - since.getTime()) / 1000)
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
      comment: 'leaked: nothing that rests on it counts',
    })),
  ]
}

/** Rows as aligned text. */
export function formatTable(rows: readonly KeyRow[]): string {
  return rows
    .map(
      ({ kid, alg, state, since, comment }) =>
        `${kid.padEnd(44)} ${alg.padEnd(8)} ${state.padEnd(9)} ${since}  ${comment}`,
    )
    .join('\n')
}
