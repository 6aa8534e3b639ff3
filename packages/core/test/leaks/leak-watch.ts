import { createIssuedSecrets, type Finding } from './issued-secrets.ts'
import { type Place, watchPlaces } from './watch-places.ts'
import { watchSecrets } from './watch-secrets.ts'

/** A secret in a forbidden place. */
export interface Leak extends Finding {
  readonly place: Place
}

/** The secrets issued in a test file, and where they leaked. */
export interface LeakWatch {
  /** Returns the leaks so far, each once, and forgets them. */
  takeLeaks(): Leak[]
  /** Adds text that others can read but the watch doesn't see. */
  add(place: 'telemetry', text: string): void
  /** Forgets all issued secrets, before the next file. */
  startOver(): void
}

/** Watches this process from outside: the code under test doesn't know about it. */
export const leakWatch: LeakWatch = startLeakWatch()

function startLeakWatch(): LeakWatch {
  const secrets = createIssuedSecrets()
  const texts = {
    log: new Set<string>(),
    'error body': new Set<string>(),
    URL: new Set<string>(),
    telemetry: new Set<string>(),
  }
  let leaks: Leak[] = []
  const search = (place: Place, text: string | Uint8Array) =>
    void leaks.push(...secrets.find(text).map((finding) => ({ place, ...finding })))

  watchSecrets(secrets)
  const { readOpenDatabases, forgetDatabases } = watchPlaces((place, text) => {
    // A log may be written before a secret in it is known, so keep it. A database is too large to keep.
    if (place === 'database') search(place, text)
    else texts[place].add(Buffer.from(text).toString())
  })
  return {
    takeLeaks() {
      readOpenDatabases()
      for (const place of ['log', 'error body', 'URL', 'telemetry'] as const) {
        search(place, [...texts[place]].join('\n'))
        texts[place].clear()
      }
      const found = new Map(leaks.map((leak) => [JSON.stringify(leak), leak]))
      leaks = []
      return [...found.values()]
    },
    add: (place, text) => void texts[place].add(text),
    startOver() {
      forgetDatabases()
      secrets.forget()
      for (const seen of Object.values(texts)) seen.clear()
      leaks = []
    },
  }
}
