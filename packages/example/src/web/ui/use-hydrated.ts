import { useSyncExternalStore } from 'react'

const subscribeToNothing = () => () => {}

/** Returns false on the server and in the first render of the browser, so both render the same. */
export const useHydrated = (): boolean =>
  useSyncExternalStore(
    subscribeToNothing,
    () => true,
    () => false,
  )
