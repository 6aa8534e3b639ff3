import { useSyncExternalStore } from 'react'
import type { Played } from '../../gate/play-scenario.ts'
import type { ScenarioName } from '../../gate/scenarios.ts'
import type { Clients } from '../clients.ts'

interface Plays {
  /** The one that is under way. */
  readonly playing: ScenarioName | null
  readonly latest: ScenarioName | null
  readonly played: Readonly<Partial<Record<ScenarioName, Played>>>
  readonly problem: unknown
}

const NONE: Plays = { playing: null, latest: null, played: {}, problem: null }

// Not in a component: each scenario changes who is signed in, and with that everything is built anew.
let plays = NONE
const listeners = new Set<() => void>()

function set(change: Partial<Plays>): void {
  plays = { ...plays, ...change }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** What has been played since the page was loaded. */
export const usePlays = (): Plays =>
  useSyncExternalStore(
    subscribe,
    () => plays,
    () => NONE,
  )

/** Plays a scenario in this browser, one at a time. */
export async function play(name: ScenarioName, client: Clients['authClient']): Promise<void> {
  if (plays.playing !== null) return
  set({ playing: name, problem: null })
  try {
    // Whoever is signed in leaves first: the end of their session would come in between.
    if (client.getState().status !== 'unauthenticated') await client.signOut()
    const response = await client.fetch(`/gate/scenario/${name}`, { method: 'POST' })
    if (!response.ok) throw new Error(`The server answered ${response.status}`)
    const played: Played = await response.json()
    // The client does not know yet that there is a session: where it counts, it finds out, as it would by itself.
    if (played.call.exchanges.at(-1)?.status === 200) await client.refresh()
    set({ playing: null, latest: name, played: { ...plays.played, [name]: played } })
  } catch (error) {
    set({ playing: null, problem: error })
  }
}
