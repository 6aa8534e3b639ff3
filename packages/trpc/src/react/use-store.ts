import { useSyncExternalStore } from 'react'
import type { Store } from '../client/store.ts'

/** The value of a store, from one render to the next. */
export function useStore<Value>({ subscribe, get }: Pick<Store<Value>, 'get' | 'subscribe'>): Value {
  return useSyncExternalStore(subscribe, get, get)
}
