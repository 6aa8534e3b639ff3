import { useState, useSyncExternalStore } from 'react'

const RETRY_MS = 3_000

// Module state: a connection belongs to the browser, not to a user.
let isLost = false
let recoveries = 0
const listeners = new Set<() => void>()

/** `fetch`, which also tracks whether the server responds. */
export const trackedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init)
    recover()
    return response
  } catch (error) {
    // Browsers reject with a TypeError if there was no response.
    if (error instanceof TypeError && !isLost) void waitForServer()
    throw error
  }
}

async function waitForServer(): Promise<void> {
  isLost = true
  while (isLost) {
    await pause()
    await fetch('/healthz').then(recover, () => {})
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      removeEventListener('online', end)
      resolve()
    }
    const timer = setTimeout(end, RETRY_MS)
    addEventListener('online', end)
  })
}

function recover(): void {
  if (!isLost) return
  isLost = false
  recoveries++
  for (const listener of listeners) listener()
}

/** Calls the listener each time the connection comes back. */
export function onRecovery(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns whether the connection has come back since this error occurred. */
export function useHasRecovered(error: unknown): boolean {
  const current = useSyncExternalStore(
    onRecovery,
    () => recoveries,
    () => 0,
  )
  const [first, setFirst] = useState({ error, recoveries: current })
  if (first.error !== error) setFirst({ error, recoveries: current })
  return first.error === error && first.recoveries !== current
}
