import { type RefObject, useEffect, useRef } from 'react'

/**
 * Focuses a list when the focused row was removed. Otherwise keyboard users would start at the top of the
 * page.
 */
export function useFocusAfterRemoval(count: number): RefObject<HTMLUListElement | null> {
  const list = useRef<HTMLUListElement>(null)
  const before = useRef(count)
  useEffect(() => {
    if (count < before.current && document.activeElement === document.body)
      list.current?.focus({ preventScroll: true })
    before.current = count
  }, [count])
  return list
}
