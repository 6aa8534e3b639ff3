import { Text } from '@radix-ui/themes'
import { useEffect, useState } from 'react'

/** Seconds that the server has counted, and that run from the receipt: clocks are never compared. A new `key` begins anew. */
export function Remaining({ seconds }: { readonly seconds: number }) {
  const [passed, setPassed] = useState(0)
  useEffect(() => {
    const begun = performance.now()
    const timer = setInterval(() => setPassed(Math.floor((performance.now() - begun) / 1_000)), 1_000)
    return () => clearInterval(timer)
  }, [])
  const left = Math.max(0, seconds - passed)
  return (
    <Text role="timer" className="time">
      {Math.floor(left / 60)}:{String(left % 60).padStart(2, '0')} min
    </Text>
  )
}
