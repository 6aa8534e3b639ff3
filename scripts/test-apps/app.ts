import type { launchChromium } from '../../packages/trpc/test/browser/launch-chromium.ts'
import type { Library } from '../test-packages/pack-libraries.ts'

export type Browser = Exclude<Awaited<ReturnType<typeof launchChromium>>, string>

/** An app that `pnpm test:apps` installs, builds, serves, and proves. */
export interface App {
  /** Arguments of `pnpm test:apps` select the names that start with them. */
  readonly name: string
  /** Does all of it, and stops the server. Rejects if a part fails. */
  test(place: Place): Promise<void>
}

/** What all apps share. */
export interface Place {
  /** An empty folder. Each kind of app creates its own folder in it. */
  readonly root: string
  /** The packed libraries to install. */
  readonly libraries: readonly Library[]
  /** Pass it to `proveApp`. */
  readonly browser: Browser
}
