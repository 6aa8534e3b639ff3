import { Text } from '@radix-ui/themes'
import { useEffect, useState } from 'react'

/**
 * Shows a countdown from the server's seconds without reading the browser's clock. Set another `key` to
 * restart.
 */
export function Remaining({ seconds }: { readonly seconds: number }) {
  const [passed, setPassed] = useState(0)
  useEffect(() => {
    const startedAt = performance.now()
    const timer = setInterval(() => setPassed(Math.floor((performance.now() - startedAt) / 1_000)), 1_000)
    return () => clearInterval(timer)
  }, [])
  const left = Math.max(0, seconds - passed)
  return (
    <Text role="timer" className="time">
      {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')} min
    </Text>
  )
}
