import type { Browser } from './app.ts'
import { openTour, PROOFS, type ServedApp } from './proofs.ts'

/**
 * Proves an app that is being served, by HTTP and in one tab of a browser. Each proof continues where the one
 * before it ended, so the first failure ends the rest.
 *
 * @throws Error with the name of the proof that failed, and its cause
 */
export async function proveApp(app: ServedApp, browser: Browser): Promise<void> {
  await using tour = await openTour(app, browser)
  for (const [name, prove] of PROOFS) {
    await prove(tour).catch((cause: unknown) => {
      throw new Error(`Proof failed: ${name}`, { cause })
    })
  }
}
