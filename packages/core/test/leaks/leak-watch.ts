import { createIssuedSecrets, type Finding } from './issued-secrets.ts'
import { type Place, watchPlaces } from './watch-places.ts'
import { watchSecrets } from './watch-secrets.ts'

/** A secret where it must not be. */
export interface Leak extends Finding {
  readonly place: Place
}

/** What was issued in a test file, and where it got to. */
export interface LeakWatch {
  /** The leaks so far, each once; they are then forgotten. */
  takeLeaks(): Leak[]
  /** Forgets what was issued: the next file begins. */
  startOver(): void
}

/** Watches this process. All from the outside: no code under test knows of it. */
export const leakWatch: LeakWatch = startLeakWatch()

function startLeakWatch(): LeakWatch {
  const secrets = createIssuedSecrets()
  const texts = { log: new Set<string>(), 'error body': new Set<string>(), URL: new Set<string>() }
  let leaks: Leak[] = []
  const search = (place: Place, text: string | Uint8Array) =>
    void leaks.push(...secrets.find(text).map((finding) => ({ place, ...finding })))

  watchSecrets(secrets)
  const { readOpenDatabases, forgetDatabases } = watchPlaces((place, text) => {
    // A log may be written before we learn what is secret in it; a database is too large to keep.
    if (place === 'database') search(place, text)
    else texts[place].add(Buffer.from(text).toString())
  })
  return {
    takeLeaks() {
      readOpenDatabases()
      for (const place of ['log', 'error body', 'URL'] as const) {
        search(place, [...texts[place]].join('\n'))
        texts[place].clear()
      }
      const found = new Map(leaks.map((leak) => [JSON.stringify(leak), leak]))
      leaks = []
      return [...found.values()]
    },
    startOver() {
      forgetDatabases()
      secrets.forget()
      for (const heard of Object.values(texts)) heard.clear()
      leaks = []
    },
  }
}
