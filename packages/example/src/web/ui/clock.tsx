import { createContext, type ReactNode, use, useEffect, useState } from 'react'

const TICK_MS = 10_000

const Clock = createContext(0)

/** Returns the current time in milliseconds, by the server's clock. */
export const useNow = (): number => use(Clock)

interface ClockProviderProps {
  /** The time when the server rendered the page, so the first render in the browser is the same. */
  readonly start: number
  readonly children: ReactNode
}

/** Provides the time. It never reads the browser's clock, which may be wrong. */
export function ClockProvider({ start, children }: ClockProviderProps) {
  const [now, setNow] = useState(start)
  useEffect(() => {
    const mountedAt = performance.now()
    const timer = setInterval(() => setNow(start + performance.now() - mountedAt), TICK_MS)
    return () => clearInterval(timer)
  }, [start])
  return <Clock value={now}>{children}</Clock>
}
