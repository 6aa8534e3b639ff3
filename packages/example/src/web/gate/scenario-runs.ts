import { useSyncExternalStore } from 'react'
import type { ScenarioRun } from '../../gate/run-scenario.ts'
import type { ScenarioName } from '../../gate/scenarios.ts'
import type { Clients } from '../clients.ts'

interface ScenarioRuns {
  /** The scenario in progress. */
  readonly running: ScenarioName | null
  readonly latest: ScenarioName | null
  readonly results: Readonly<Partial<Record<ScenarioName, ScenarioRun>>>
  readonly problem: unknown
}

const NONE: ScenarioRuns = { running: null, latest: null, results: {}, problem: null }

// Module state: each scenario changes the user, which remounts every component.
let runs = NONE
const listeners = new Set<() => void>()

function set(change: Partial<ScenarioRuns>): void {
  runs = { ...runs, ...change }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns the results since the page was loaded. */
export const useScenarioRuns = (): ScenarioRuns =>
  useSyncExternalStore(
    subscribe,
    () => runs,
    () => NONE,
  )

/** Runs a scenario in this browser, one at a time. */
export async function runScenario(name: ScenarioName, client: Clients['authClient']): Promise<void> {
  if (runs.running !== null) return
  set({ running: name, problem: null })
  try {
    // Sign out first. Otherwise the end of the current session would interfere.
    if (client.getState().status !== 'unauthenticated') await client.signOut()
    const response = await client.fetch(`/gate/scenario/${name}`, { method: 'POST' })
    if (!response.ok) throw new Error(`The server responded with ${response.status}. Try again.`)
    const run: ScenarioRun = await response.json()
    // The new cookies came outside the client, so it must fetch the session if it is valid.
    if (run.call.exchanges.at(-1)?.status === 200) await client.refresh()
    set({ running: null, latest: name, results: { ...runs.results, [name]: run } })
  } catch (error) {
    set({ running: null, problem: error })
  }
}
