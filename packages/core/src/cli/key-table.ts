import { type KeyRing, secondsUntilPublished } from '../keys/key-ring.ts'

/** A key in `sallyport keys list`. Has nothing secret. */
type KeyRow = Readonly<Record<'kid' | 'alg' | 'state' | 'since' | 'comment', string>>

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
    ...revoked.map(({ kid, at }) => {
      const comment = 'leaked: nothing it signed is valid'
      return { kid, alg: '', state: 'revoked', since: at.toISOString(), comment }
    }),
  ]
}

export function formatTable(rows: readonly KeyRow[]): string {
  const toLine = ({ kid, alg, state, since, comment }: KeyRow) =>
    `${kid.padEnd(44)} ${alg.padEnd(8)} ${state.padEnd(9)} ${since}  ${comment}`
  return rows.map(toLine).join('\n')
}

/** Formats rows under the names of their columns. */
export function formatColumns(rows: readonly Readonly<Record<string, string>>[]): string {
  const [first] = rows
  if (first === undefined) return 'none'
  const names = Object.keys(first)
  const lines = [names, ...rows.map((row) => names.map((name) => printable(row[name])))]
  // Not with a spread: a call takes only about 100,000 arguments.
  const widths = names.map((_name, i) => lines.reduce((max, line) => Math.max(max, line[i]?.length ?? 0), 0))
  return lines
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** A `User-Agent` can have any text, also such that moves the cursor of a terminal. */
function printable(value = ''): string {
  return value.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}
